import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';

let service: TestService;
let apiId = '';

beforeAll(async () => {
  service = await TestService.start();
  apiId = await service.createApi();
});

afterAll(async () => {
  await service.close();
});

const read = (keyId: string) => service.ok('/v1/keys.getKey', { keyId });
const EMPTY = { name: '', externalId: '', ownerId: '', environment: '' };

describe('an empty text is none', () => {
  test('in createKey it is as if it was absent', async () => {
    const { keyId } = await service.createKey({ apiId, ...EMPTY });
    const { keyId: plain } = await service.createKey({ apiId });
    const names = Object.keys(await read(keyId)).filter((name) => name !== 'id');
    expect(names).toEqual(Object.keys(await read(plain)).filter((name) => name !== 'id'));
    for (const name of [...Object.keys(EMPTY), 'identity']) expect(names).not.toContain(name);
  });

  test('an empty externalId does not hide the ownerId', async () => {
    const { keyId } = await service.createKey({ apiId, externalId: '', ownerId: 'org-1' });
    expect(await read(keyId)).toMatchObject({ ownerId: 'org-1', identity: { externalId: 'org-1' } });
  });

  test.each(['migrations.createKeys', 'migrations.enqueueKeys'])('in %s it is as if it was absent', async (method) => {
    const secrets = [`${method}-empty`, `${method}-owned`];
    const [plaintext, other] = secrets;
    const keys = [
      { plaintext, ...EMPTY },
      { plaintext: other, ...EMPTY, ownerId: 'org-2' },
    ];
    const isList = method === 'migrations.createKeys';
    const body = isList ? keys.map((key) => ({ apiId, ...key })) : { migrationId: method, apiId, keys };
    expect((await service.call(`/v1/${method}`, body)).status).toBe(isList ? 200 : 202);
    await service.engine.importQueue.run();
    const [none, owned] = await Promise.all(secrets.map((key) => service.ok('/v1/keys.whoami', { key })));
    for (const name of ['name', 'identity', 'environment']) expect(none).not.toHaveProperty(name);
    expect(owned).toMatchObject({ identity: { externalId: 'org-2' } });
  });

  describe('in updateKey', () => {
    let keyId = '';
    beforeEach(async () => {
      ({ keyId } = await service.createKey({ apiId, name: 'a name', externalId: 'org-3', environment: 'live' }));
    });

    test.each([
      ['name', ['name']],
      ['environment', ['environment']],
      ['externalId', ['ownerId', 'identity']],
      ['ownerId', ['ownerId', 'identity']],
    ])('%s is cleared', async (field, gone) => {
      const before = await read(keyId);
      await service.ok('/v1/keys.updateKey', { keyId, [field]: '' });
      const after = await read(keyId);
      const isLeft = ([name]: [string, unknown]) => !gone.includes(name) && name !== 'updatedAt';
      expect(Object.entries(after).filter(isLeft)).toEqual(Object.entries(before).filter(isLeft));
      for (const name of gone) {
        expect(before).toHaveProperty(name);
        expect(after).not.toHaveProperty(name);
      }
    });
  });

  test('in updateIdentity an empty environment has no effect', async () => {
    const { identityId } = await service.ok('/v1/identities.createIdentity', { externalId: 'user-1' });
    const before = await service.ok('/v1/identities.getIdentity', { identityId });
    await service.ok('/v1/identities.updateIdentity', { identityId, environment: '' });
    expect(await service.ok('/v1/identities.getIdentity', { identityId })).toEqual(before);
  });
});

test.each(['apis.createApi', 'apis.updateApi'])(
  '%s keeps a name with something to read among blanks as it is',
  async (method) => {
    const fields = method === 'apis.createApi' ? { name: ' a ' } : { apiId, name: ' a ' };
    const { apiId: id = apiId } = await service.ok(`/v1/${method}`, fields);
    expect((await service.ok('/v1/apis.getApi', { apiId: id })).name).toBe(' a ');
  },
);
