import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

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

describe('a meta past a bound is refused and nothing is stored', () => {
  const bytes = (count: number): string => `{"a":"${'x'.repeat(count - 8)}"}`;
  const members = (count: number): string => `{${Array.from({ length: count }, (_, i) => `"m${i}":1`).join(',')}}`;

  test.each([
    ['16 KiB and one byte', bytes(16_385), 'meta must be at most 16384 bytes of JSON, got 16385'],
    ['257 members', members(257), 'meta must have at most 256 members, got 257'],
    ['257 members in all', `{"a":${members(256)}}`, 'meta must have at most 256 members, got 257'],
    ['257 entries of a list', `{"a":[${'1,'.repeat(255)}1]}`, 'meta must have at most 256 members, got 257'],
    ['1e400', '{"a":1e400}', 'meta contains a number that cannot be stored exactly; send it as a string'],
    ['-1e400', '{"a":[-1e400]}', 'meta contains a number that cannot be stored exactly; send it as a string'],
    ['2^53+1', '{"a":9007199254740993}', 'meta contains a number that cannot be stored exactly; send it as a string'],
    ['a lone surrogate', '{"a":"\\ud800"}', 'meta contains text that is not valid Unicode (a lone surrogate)'],
    ['a lone surrogate in a name', '{"\\udc00":1}', 'meta contains text that is not valid Unicode (a lone surrogate)'],
  ])('%s', async (_name, meta, message) => {
    const before = storedIn(service.folder);
    const answer = await service.call('/v1/keys.createKey', undefined, { raw: `{"apiId":"${apiId}","meta":${meta}}` });
    expect([answer.status, answer.body.error.issues]).toEqual([400, [{ path: 'meta', message }]]);
    expect(storedIn(service.folder)).toEqual(before);
  });

  test.each([
    ['16 KiB', bytes(16_384)],
    ['256 members', members(256)],
  ])('%s is taken', async (_name, meta) => {
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

  test('a text is as long as it has characters, in the bounds and in their words alike', async () => {
    const family = '👩‍👩‍👧‍👦';
    const create = (name: string) => service.call('/v1/keys.createKey', { apiId, name });
    expect((await create('🔑'.repeat(256))).status).toBe(200);
    for (const name of ['🔑'.repeat(257), 'e\u0301'.repeat(129), family.repeat(37)]) {
      const answer = await create(name);
      expect([answer.status, answer.body.error?.issues?.map(({ path }: { path: string }) => path)]).toEqual([
        400,
        ['name'],
      ]);
    }
    expect((await service.call('/v1/apis.createApi', { name: '🔑🔑' })).body.error.message).toStartWith('name must be');
    expect((await service.call('/v1/apis.createApi', { name: '🔑🔑🔑' })).status).toBe(200);
  });

  test('a body that is not UTF-8 is refused, not stored with replaced characters', async () => {
    const head = new TextEncoder().encode(`{"apiId":"${apiId}","name":"`);
    const raw = Buffer.concat([head, Uint8Array.of(0xff, 0xc0, 0x80), new TextEncoder().encode('"}')]);
    const before = storedIn(service.folder);
    const answer = await service.call('/v1/keys.createKey', undefined, { raw });
    expect([answer.status, answer.body.error?.code]).toEqual([400, 'BAD_REQUEST']);
    expect(storedIn(service.folder)).toEqual(before);
  });
});
