import { afterAll, beforeAll, describe, expect, test, beforeEach } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { storedIn } from './stored.ts';

let service: TestService;
let apiId = '';

beforeAll(async () => {
  service = await TestService.start();
  apiId = await service.createApi();
});

afterAll(async () => {
  await service.close();
});

/** The text of `meta` as it comes back from each place that shows it. */
async function shownMetas(metaText: string): Promise<string[]> {
  const raw = `{"apiId":"${apiId}","meta":${metaText}}`;
  const { keyId, key } = (await service.ok('/v1/keys.createKey', undefined, { raw })) as { keyId: string; key: string };
  const answers = [
    await service.call('/v1/keys.getKey', { keyId }),
    await service.call('/v1/keys.verifyKey', { key }),
    await service.call('/v1/keys.verifyKey?pretty', { key }),
  ];
  await service.ok('/v1/keys.deleteKey', { keyId, permanent: true });
  return answers.map(({ text }) => JSON.stringify(JSON.parse(text).meta));
}

describe('meta is kept as plain data and comes back unchanged', () => {
  test.each([
    ['__proto__', '{"__proto__":{"polluted":true},"a":1}'],
    ['constructor and prototype', '{"constructor":{"prototype":{"polluted":true}},"prototype":{}}'],
    ['names of methods', '{"toString":1,"hasOwnProperty":2,"toJSON":"x","then":"y","length":3}'],
    ['__proto__ deep inside', '{"a":[{"b":{"__proto__":[1]}}]}'],
    ['emoji and accents', '{"na\\u00efve":"\\ud83d\\udd11 Z\\u00fcrich"}'],
    ['quotes and control characters', '{"a":"\\"\\\\ \\u0000\\u001f\\u2028"}'],
    ['the largest exact integers and fractions', '{"a":9007199254740991,"b":-9007199254740991,"c":0.1}'],
    ['null, booleans, empty things', '{"a":null,"b":[true,false],"c":{},"d":[],"e":""}'],
    ['a depth of 31 below the body', `${'{"a":'.repeat(31)}1${'}'.repeat(31)}`],
  ])('%s', async (_name, text) => {
    const expected = JSON.stringify(JSON.parse(text));
    expect(await shownMetas(text)).toEqual([expected, expected, expected]);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test('an empty meta is none', async () => {
    expect(await shownMetas('{}')).toEqual(['{}', '{}', '{}']);
  });
});

describe('a meta at a bound is taken', () => {
  test.each([
    ['16 KiB', `{"a":"${'x'.repeat(16_376)}"}`],
    ['256 members', `{${Array.from({ length: 256 }, (_, i) => `"m${i}":1`).join(',')}}`],
  ])('%s', async (_name, meta) => {
    expect((await shownMetas(meta))[0]).toBe(meta);
  });
});

describe('text', () => {
  const NAMES = [
    "Robert'); DROP TABLE keys;--",
    '" OR ""="',
    '%_\\',
    '🔑 für Zoë',
    '👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦',
    'e\u0301'.repeat(3),
    '\r\n\u001b[31mred',
    '<script>alert(1)</script>',
    '日本語',
  ];

  test.each(NAMES.map((name) => [name] as const))(
    '%p in every text field is stored and shown as it is',
    async (text) => {
      const api = await service.ok('/v1/apis.createApi', { name: text });
      expect(await service.ok('/v1/apis.getApi', { apiId: api.apiId })).toMatchObject({ name: text });
      const fields = { name: text, externalId: text, environment: text, meta: { [text]: text } };
      const ratelimits = [{ name: text, limit: 5, duration: 60_000, async: false }];
      const { key, keyId } = await service.createKey({ apiId: api.apiId, ...fields, ratelimits });
      const shown = { name: text, ownerId: text, environment: text, meta: { [text]: text } };
      expect(await service.ok('/v1/keys.getKey', { keyId })).toMatchObject({ ...shown, ratelimits });
      const limit = { name: text, limit: 2, duration: 60_000 };
      expect(await service.verify(key, { ratelimits: [limit] })).toMatchObject({
        ...shown,
        ratelimits: [{ name: text }],
      });
      const listed = await service.ok('/v1/apis.listKeys', { apiId: api.apiId, externalId: text });
      expect(listed).toMatchObject({ total: 1, keys: [shown] });
      await service.ok('/v1/keys.updateKey', { keyId, name: `${text}2` });
      expect((await service.verify(key)).name).toBe(`${text}2`);
    },
  );

  test('SQL text as an id, a cursor or an owner finds nothing and harms nothing', async () => {
    const before = storedIn(service.folder);
    const text = "x' OR '1'='1";
    expect((await service.call('/v1/keys.getKey', { keyId: text })).status).toBe(404);
    expect((await service.call('/v1/apis.getApi', { apiId: text })).status).toBe(404);
    expect((await service.call('/v1/keys.deleteKey', { keyId: text })).status).toBe(404);
    expect((await service.ok('/v1/apis.listKeys', { apiId, externalId: text })).total).toBe(0);
    expect((await service.call('/v1/apis.listApis', { cursor: text })).status).toBe(400);
    expect(storedIn(service.folder)).toEqual(before);
  });

  test('a text is as long as it has characters', async () => {
    expect((await service.call('/v1/keys.createKey', { apiId, name: '🔑'.repeat(256) })).status).toBe(200);
    expect((await service.call('/v1/apis.createApi', { name: '🔑🔑🔑' })).status).toBe(200);
  });
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
