import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { entriesAbout } from '../audit/entries.ts';

let service: TestService;
let apiId = '';

beforeAll(async () => {
  service = await TestService.start();
});

beforeEach(async () => {
  apiId = await service.createApi();
});

afterAll(async () => {
  await service.close();
});

const createKeys = async (keys: readonly object[], fields: object = { apiId }) =>
  (await service.ok('/v1/keys.createKeys', { ...fields, keys })).keys as { keyId: string; key: string }[];

describe('keys.createKeys', () => {
  test('1,000 keys are created in the order of the list, each with its own secret, fields and audit entry', async () => {
    const made = await createKeys(
      Array.from({ length: 1000 }, (_, i) => ({ name: `number ${i}`, remaining: i + 1, prefix: 'many' })),
    );
    expect(new Set(made.flatMap(({ keyId, key }) => [keyId, key])).size).toBe(2000);
    for (const i of [0, 17, 999]) {
      const { keyId = '', key = '' } = made[i] ?? {};
      expect(key).toStartWith('many_');
      expect(await service.verify(key)).toMatchObject({ valid: true, keyId, remaining: i });
      expect(await service.ok('/v1/keys.getKey', { keyId })).toMatchObject({ apiId, name: `number ${i}` });
      const [entry, ...others] = await entriesAbout(service, keyId);
      expect(entry).toMatchObject({ action: 'key.create', after: { name: `number ${i}`, remaining: i + 1 } });
      expect(others).toEqual([]);
    }
    const { total, keys } = await service.ok('/v1/apis.listKeys', { apiId, search: 'number 998' });
    expect([total, keys[0].id]).toEqual([1, made[998]?.keyId]);
    expect((await service.ok('/v1/apis.listKeys', { apiId, limit: 1 })).total).toBe(1000);
  });

  test('what several keys name is created once, and what exists is used', async () => {
    await service.ok('/v1/permissions.createRole', { name: 'known' });
    await service.createKey({ apiId, externalId: 'known-owner' });
    const fields = { externalId: 'new-owner', roles: ['known', 'fresh'], permissions: ['fresh.read'] };
    const made = await createKeys([fields, { ...fields, externalId: 'known-owner' }, fields, {}]);
    const verdicts = await Promise.all(made.map(({ key }) => service.verify(key)));
    const granted = { roles: ['fresh', 'known'], permissions: ['fresh.read'] };
    expect(verdicts).toMatchObject([
      { ownerId: 'new-owner', ...granted },
      { ownerId: 'known-owner', ...granted },
      { ownerId: 'new-owner', ...granted },
      { valid: true },
    ]);
    const countOf = async (externalId: string) =>
      (await service.ok('/v1/identities.getIdentity', { externalId })).keys as number;
    expect([await countOf('new-owner'), await countOf('known-owner')]).toEqual([2, 2]);
  });

  test('a key goes to the api that it names, with the defaults of that api', async () => {
    const other = await service.createApi();
    const defaults = { defaultPrefix: 'other', defaultRatelimit: { limit: 1, duration: 60_000, async: false } };
    await service.ok('/v1/apis.updateApi', { apiId: other, ...defaults });
    const [first, second] = await createKeys([{}, { apiId: other }]);
    expect(await service.ok('/v1/keys.getKey', { keyId: first?.keyId })).toMatchObject({ apiId });
    expect(await service.ok('/v1/keys.getKey', { keyId: second?.keyId })).toMatchObject({ apiId: other });
    expect(second?.key).toStartWith('other_');
    expect(await service.verify(second?.key ?? '')).toMatchObject({ valid: true });
    expect(await service.verify(second?.key ?? '')).toMatchObject({ code: 'RATE_LIMITED' });
    expect(await createKeys([{ apiId }, { apiId: other }], {})).toHaveLength(2);
  });

  test('an identity gets exactly as many keys as it may have, also by calls at the same time', async () => {
    const externalId = 'at-most-ten';
    await service.ok('/v1/identities.createIdentity', { externalId, maxKeys: 10 });
    const calls = await Promise.all(
      Array.from({ length: 5 }, () =>
        service.call('/v1/keys.createKeys', { apiId, keys: [{ externalId }, { externalId }, { externalId }] }),
      ),
    );
    expect(calls.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 200, 412, 412]);
    await createKeys([{ externalId }]);
    expect((await service.ok('/v1/identities.getIdentity', { externalId })).keys).toBe(10);
    const { status } = await service.call('/v1/keys.createKeys', { apiId, keys: [{}, { externalId }] });
    expect(status).toBe(412);
    expect((await service.ok('/v1/apis.listKeys', { apiId, limit: 1 })).total).toBe(10);
  });
});
