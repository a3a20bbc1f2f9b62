import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { storedIn } from './stored.ts';

let service: TestService;
let apiId = '';
let keyId = '';

beforeAll(async () => {
  service = await TestService.start({ startsAt: '2026-03-15T12:00:00Z' });
  ({ apiId, keyId } = await service.createKey({ remaining: 5 }));
});

afterAll(async () => {
  await service.close();
});

interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly issues?: { path: string; message: string }[];
}

async function refused(path: string, body: object, status = 400): Promise<Refusal> {
  const before = storedIn(service.folder);
  const answer = await service.call(path, body);
  expect([answer.status, storedIn(service.folder)]).toEqual([status, before]);
  return answer.body.error as Refusal;
}

const daily = { interval: 'daily', amount: 1 };
const NOW = Date.parse('2026-03-15T12:00:00Z');

type FieldCase = readonly [name: string, fields: Record<string, unknown>, path: string, message: string];

/** What a schema cannot say: fields of createKey and of updateKey alike. */
const FIELDS: readonly FieldCase[] = [
  [
    'refillDay with daily',
    { remaining: 1, refill: { ...daily, refillDay: 1 } },
    'refill.refillDay',
    'refill.refillDay is allowed only with interval "monthly"',
  ],
  ...['Mars/Olympus', 'europe/berlin', 'GMT+1', '+01:00', 'UTC ', "UTC'; DROP TABLE keys"].map((timezone) => {
    const message = `refill.timezone must be an IANA time zone such as "Europe/Berlin", got ${JSON.stringify(timezone)}`;
    const refill = { ...daily, timezone };
    return [`the time zone ${timezone}`, { remaining: 1, refill }, 'refill.timezone', message] as const;
  }),
  [
    'max without mode add',
    { remaining: 1, refill: { ...daily, max: 5 } },
    'refill.max',
    'refill.max is allowed only with mode "add"',
  ],
  ['a ratelimit without a limit', { ratelimit: { duration: 1000 } }, 'ratelimit.limit', 'ratelimit.limit is missing'],
  [
    'a ratelimit without a duration',
    { ratelimit: { limit: 1 } },
    'ratelimit.duration',
    'ratelimit.duration is missing',
  ],
  [
    'a limit named default among the others',
    { ratelimits: [{ name: 'default', limit: 1, duration: 1000 }] },
    'ratelimits[0].name',
    'send the limit "default" as ratelimit, not in ratelimits',
  ],
  [
    'a limit given twice',
    { ratelimits: ['a', 'b', 'a'].map((name) => ({ name, limit: 1, duration: 1000 })) },
    'ratelimits[2].name',
    'the limit "a" is given twice',
  ],
  ...['10.0.0.0/33', '300.1.1.1', '10.0.0', 'localhost', '::/129', '1.2.3.4/', '01.2.3.4'].map((entry) => {
    const message = `ipAllowlist[1] must be an address or a CIDR block such as 10.0.0.0/8, got "${entry}"`;
    return [`the address ${entry}`, { ipAllowlist: ['10.0.0.1', entry] }, 'ipAllowlist[1]', message] as const;
  }),
];

describe.each([
  ['createKey', '/v1/keys.createKey'],
  ['updateKey', '/v1/keys.updateKey'],
])('%s refuses', (_name, path) => {
  const target = (): object => (path.endsWith('createKey') ? { apiId } : { keyId });

  test.each(FIELDS)('%s', async (_case, fields, at, message) => {
    const error = await refused(path, { ...target(), ...fields });
    expect(error).toMatchObject({ code: 'BAD_REQUEST', message, issues: [{ path: at, message }] });
  });

  test('several of them at once, each with its path', async () => {
    const fields = { remaining: 1, refill: { ...daily, refillDay: 1, max: 5 }, ipAllowlist: ['x'] };
    const { issues } = await refused(path, { ...target(), ...fields });
    expect(issues?.map((issue) => issue.path)).toEqual(['refill.refillDay', 'refill.max', 'ipAllowlist[0]']);
  });
});

describe('createKey refuses', () => {
  test('a refill without remaining', async () => {
    const message = 'a refill needs a counter: give remaining with it';
    expect(await refused('/v1/keys.createKey', { apiId, refill: daily })).toMatchObject({
      code: 'BAD_REQUEST',
      issues: [{ path: 'refill', message }],
    });
  });

  test.each([
    ['in the past', NOW - 1],
    ['now', NOW],
    ['in seconds', Math.floor(NOW / 1000) + 3600],
    ['at 0', 0],
  ])('an expiry %s', async (_name, expires) => {
    const message = 'expires is in the past; it must be a unix time in milliseconds';
    expect((await refused('/v1/keys.createKey', { apiId, expires })).issues).toEqual([{ path: 'expires', message }]);
  });

  test.each([['a b'], ['ümlaut'], ['a/b'], [''], ['a'.repeat(17)], ['a\n'], ["'; --"]])(
    'the prefix %p',
    async (prefix) => {
      const { issues } = await refused('/v1/keys.createKey', { apiId, prefix });
      expect(issues?.map(({ path }) => path)).toEqual(['prefix']);
      expect(issues?.[0]?.message).toStartWith('prefix must be 1 to 16 of the characters A-Z a-z 0-9 _ . -, got ');
    },
  );

  test('an unknown api', async () => {
    expect(await refused('/v1/keys.createKey', { apiId: 'api_unknown' }, 404)).toMatchObject({
      code: 'NOT_FOUND',
      message: 'There is no api "api_unknown", or this root key may not see it.',
    });
  });

  test('a recoverable key: secrets are not kept', async () => {
    expect(await refused('/v1/keys.createKey', { apiId, recoverable: true }, 412)).toMatchObject({
      code: 'PRECONDITION_FAILED',
      message: 'Secrets are not stored, so a key cannot be made recoverable.',
    });
  });
});

test('decrypt: true is a 412 wherever it can be asked, decrypt: false is nothing', async () => {
  for (const [path, body] of [
    ['/v1/keys.getKey', { keyId }],
    ['/v1/apis.listKeys', { apiId }],
  ] as const) {
    expect((await refused(path, { ...body, decrypt: true }, 412)).code).toBe('PRECONDITION_FAILED');
    expect((await service.call(path, { ...body, decrypt: false })).status).toBe(200);
  }
});

test('the counter of a key without one can be set, not raised; null goes with set only', async () => {
  const plain = await service.createKey({ apiId });
  for (const op of ['increment', 'decrement']) {
    const path = '/v1/keys.updateRemaining';
    expect((await refused(path, { keyId: plain.keyId, op, value: 1 })).message).toBe(
      `The key ${plain.keyId} has no counter to change; use op "set" to give it one.`,
    );
    expect((await refused(path, { keyId, op, value: null })).issues?.map((issue) => issue.path)).toEqual(['value']);
  }
});

test.each([
  ['too short', 'a'.repeat(7)],
  ['too long', 'a'.repeat(129)],
  ['with a blank', 'order 0001'],
  ['not ASCII', 'bestellung-ü'],
])('an idempotency key %s is refused, in the body and in the header', async (_name, idempotencyKey) => {
  const { key } = await service.createKey({ apiId, remaining: 3 });
  const before = storedIn(service.folder);
  const inBody = await service.call('/v1/keys.verifyKey', { key, idempotencyKey });
  expect([inBody.status, inBody.body.error.issues[0].path]).toEqual([400, 'idempotencyKey']);
  const inHeader = await service.call(
    '/v1/keys.verifyKey',
    { key },
    { headers: { 'idempotency-key': idempotencyKey } },
  );
  expect([inHeader.status, inHeader.body.error.issues[0].path]).toEqual([400, 'idempotencyKey']);
  expect(storedIn(service.folder)).toEqual(before);
});

test('an idempotency key in the body and another one in the header is refused; the same one in both is one', async () => {
  const { key } = await service.createKey({ apiId, remaining: 3 });
  const call = (idempotencyKey: string, header: string) =>
    service.call('/v1/keys.verifyKey', { key, idempotencyKey }, { headers: { 'idempotency-key': header } });
  expect((await call('order-0001', 'order-0002')).body.error.message).toBe(
    'idempotencyKey and the header Idempotency-Key differ',
  );
  expect((await call('order-0001', 'order-0001')).body.remaining).toBe(2);
  expect((await service.verify(key, {}, { headers: { 'idempotency-key': 'order-0001' } })).remaining).toBe(2);
});
