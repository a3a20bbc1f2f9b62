import { beforeEach, expect, test } from 'bun:test';

import { PIPELINE } from '../../../src/engine/verify/pipeline.ts';
import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';

let service: TestService;

const started = reuseService();
beforeEach(() => {
  service = started();
});

interface Check {
  readonly check: string;
  readonly result: string;
  readonly text: string;
  readonly counters?: readonly object[];
}

const AS_ROOT = () => ({ rootKey: service.rootKey });
const explained = async (key: string, fields: Record<string, unknown> = {}) =>
  (await service.verify(key, { explain: true, ...fields }, AS_ROOT())) as { code: string; explanation: Check[] };
const NAMES = PIPELINE.map(({ name }) => name);
/** The one check that refused, and its words. */
const refusal = (checks: readonly Check[]) =>
  checks.flatMap(({ check, result, text }) => (result === 'refused' ? [check, text] : []));

const LOCAL = { name: 'fast', limit: 2, duration: 60_000, async: true };
const STRICT = { name: 'exact', limit: 2, duration: 60_000, async: false };

test('a valid key: every check passed, and the counters that moved are named', async () => {
  const { identityId } = await service.ok('/v1/identities.createIdentity', { externalId: 'acme', remaining: 9 });
  expect(identityId).toBeString();
  const { key } = await service.createKey({ externalId: 'acme', remaining: 5, ratelimits: [LOCAL, STRICT] });
  const { code, explanation } = await explained(key, { remaining: { cost: 2 } });
  expect(code).toBe('VALID');
  expect(explanation.map(({ check, result }) => [check, result])).toEqual(NAMES.map((name) => [name, 'passed']));
  const reset = service.clock.nowMs() + 60_000 - (service.clock.nowMs() % 60_000);
  expect(explanation.flatMap(({ counters }) => counters ?? [])).toEqual([
    { name: 'fast', of: 'key', taken: 1, remaining: 1, reset },
    { name: 'exact', of: 'key', taken: 1, remaining: 1, reset },
    { name: 'credits', of: 'key', taken: 2, remaining: 3 },
    { name: 'credits', of: 'identity', taken: 2, remaining: 7 },
  ]);
});

test('with a cost of 0 nothing is spent, of no limit and no credits', async () => {
  const { key } = await service.createKey({ remaining: 5, ratelimits: [LOCAL, STRICT] });
  for (let i = 0; i < 3; i++) {
    const { explanation } = await explained(key, { remaining: { cost: 0 } });
    const counters = explanation.flatMap((check) => check.counters ?? []);
    expect(counters).toMatchObject([
      { name: 'fast', taken: 0, remaining: 2 },
      { name: 'exact', taken: 0, remaining: 2 },
      { name: 'credits', taken: 0, remaining: 5 },
    ]);
  }
  // A limit that is named has the cost that is named with it.
  const named = await explained(key, { remaining: { cost: 0 }, ratelimits: [{ name: 'exact', cost: 2 }] });
  expect(named.explanation.flatMap((check) => check.counters ?? [])).toMatchObject([
    { name: 'fast', taken: 0 },
    { name: 'exact', taken: 2, remaining: 0 },
    { name: 'credits', taken: 0 },
  ]);
});

test('each check that refuses is named, with what it found, and those behind it were not reached', async () => {
  const owner = async (externalId: string, fields: object) => {
    await service.ok('/v1/identities.createIdentity', { externalId, ...fields });
    return { externalId };
  };
  const expires = service.clock.nowMs() + 1_000;
  const cases: [fields: object, asked: Record<string, unknown>, check: string, text: string][] = [
    [{}, { apiId: (await service.createKey({})).apiId }, 'api', 'The key belongs to API, not to OTHER.'],
    [{ enabled: false }, {}, 'enabled', 'The key is disabled.'],
    [await owner('off', { enabled: false }), {}, 'enabled', 'Its customer off is disabled.'],
    [{ expires }, {}, 'expiry', `The key expired at ${new Date(expires).toISOString()}.`],
    [
      { ipAllowlist: ['10.0.0.0/8'] },
      { clientIp: '192.0.2.1' },
      'address',
      "192.0.2.1 is not in the key's list of addresses.",
    ],
    [{}, { authorization: { permissions: 'documents.read' } }, 'permissions', 'The key has no permission.'],
    [
      { ratelimits: [{ ...LOCAL, limit: 1 }] },
      { ratelimits: [{ name: 'fast', cost: 2 }] },
      'local limits',
      'Not enough is left of the local limits.',
    ],
    [
      { ratelimits: [{ ...STRICT, limit: 1 }] },
      { ratelimits: [{ name: 'exact', cost: 2 }] },
      'strict limits',
      'Not enough is left of the strict limits.',
    ],
    [
      { ...(await owner('rich', { remaining: 9 })), remaining: 1 },
      { remaining: { cost: 2 } },
      'credits of the key',
      'Not enough is left of the credits of the key.',
    ],
    [
      { ...(await owner('poor', { remaining: 1 })), remaining: 9 },
      { remaining: { cost: 2 } },
      'credits of the identity',
      'Not enough is left of the credits of the customer.',
    ],
  ];
  const made: { key: string; apiId: string }[] = [];
  for (const [fields] of cases) {
    const api = await service.ok('/v1/apis.createApi', { name: 'shop' });
    made.push({ ...(await service.createKey({ apiId: api.apiId, ...fields })), apiId: api.apiId as string });
  }
  service.clock.advance(1_000);
  for (const [i, [, asked, check, text]] of cases.entries()) {
    const { key, apiId } = made[i] as { key: string; apiId: string };
    const { explanation } = await explained(key, asked);
    expect(refusal(explanation)).toEqual([check, text.replace('API', apiId).replace('OTHER', String(asked['apiId']))]);
    const at = NAMES.indexOf(check);
    expect(explanation.map(({ result }) => result)).toEqual(
      NAMES.map((_, each) => (each < at ? 'passed' : each === at ? 'refused' : 'not reached')),
    );
    expect(
      explanation.flatMap(({ counters }) => counters ?? []).every((each) => 'taken' in each && each.taken === 0),
    ).toBe(true);
  }
});

test('an unknown key, and one of an api that the root key may not read, look alike', async () => {
  const { key } = await service.createKey({});
  const other = await service.ok('/v1/apis.createApi', { name: 'other' });
  const permissions = [`api.${other.apiId}.read_key`];
  const reader = await service.ok('/v1/rootKeys.createRootKey', { name: 'reader', permissions });
  const asReader = { rootKey: reader.key as string };
  const hidden = await service.verify(key, { explain: true }, asReader);
  const unknown = await service.verify('unknown', { explain: true }, asReader);
  expect({ ...hidden, requestId: '' }).toEqual({ ...unknown, requestId: '' });
  expect(refusal(unknown.explanation)).toEqual([
    'key',
    'No key has this secret, the secret was replaced, or the root key may not see the key.',
  ]);
});

test('it needs a root key with the right to read keys, and nothing is spent without', async () => {
  const { key, keyId } = await service.createKey({ remaining: 3 });
  const asked = { key, explain: true };
  const anonymous = await service.call('/v1/keys.verifyKey', asked, { rootKey: null });
  expect(anonymous.status).toBe(401);
  const weak = await service.ok('/v1/rootKeys.createRootKey', { name: 'weak', permissions: ['api.*.verify_key'] });
  const refused = await service.call('/v1/keys.verifyKey', asked, { rootKey: weak.key as string });
  expect([refused.status, refused.body.error.message]).toEqual([
    403,
    'To explain a verdict, a root key needs the right api.*.read_key.',
  ]);
  expect((await service.call('/v1/keys.verifyKeys', { keys: [{ key }, asked] }, { rootKey: null })).status).toBe(401);
  expect((await service.ok('/v1/keys.getKey', { keyId })).remaining).toBe(3);
  const many = await service.ok('/v1/keys.verifyKeys', { keys: [{ key }, asked] });
  expect(many.results.map((each: object) => 'explanation' in each)).toEqual([false, true]);
});

test('a key that has nothing left is told so, also where nothing is asked of it', async () => {
  const { key } = await service.createKey({ remaining: 1, ratelimits: [{ ...STRICT, limit: 1 }] });
  expect((await service.verify(key)).valid).toBe(true);
  const { code, explanation } = await explained(key, { remaining: { cost: 0 } });
  expect(code).toBe('VALID');
  const texts = explanation.flatMap(({ counters, text }) => (counters === undefined ? [] : text));
  expect(texts).toEqual([
    'Nothing is left of the strict limits: a verification that takes something is refused.',
    'Nothing is left of the credits of the key: a verification that takes something is refused.',
  ]);
});

test('a look that takes nothing is not counted, and one that takes something is', async () => {
  const { key, keyId, apiId } = await service.createKey({ remaining: 5 });
  await explained(key, { remaining: { cost: 0 } });
  const counted = async () =>
    ((await service.ok('/v1/analytics.getVerifications', { apiId, keyId })) as { total: number }[])[0]?.total;
  expect(await counted()).toBe(0);
  await explained(key);
  expect(await counted()).toBe(1);
});

test('a key that expires later than a Date can be is explained', async () => {
  const { key } = await service.createKey({ expires: Number.MAX_SAFE_INTEGER, remaining: 2 });
  const { explanation } = await explained(key);
  expect(explanation.find(({ check }) => check === 'expiry')?.text).toBe(
    'The key expires at 9007199254740991 ms after 1970.',
  );
});

test('with the same idempotency key, an explained request and a plain one are the same', async () => {
  const { key } = await service.createKey({ remaining: 5 });
  for (const fields of [{}, { explain: true }, { explain: false }])
    expect(await service.verify(key, { idempotencyKey: 'the-same-request', ...fields }, AS_ROOT())).toMatchObject({
      remaining: 4,
    });
});

test('names in other scripts are counted in bytes', async () => {
  await service.ok('/v1/identities.createIdentity', { externalId: 'مرحبا', enabled: false });
  const { key } = await service.createKey({ externalId: 'مرحبا' });
  const { explanation } = await explained(key);
  expect(refusal(explanation)).toEqual(['enabled', 'Its customer مرحبا is disabled.']);
});

test('a repeated request tells its first answer, and took nothing again', async () => {
  const { key } = await service.createKey({ remaining: 3 });
  for (const taken of [1, 0]) {
    const { explanation } = await explained(key, { idempotencyKey: 'repeated-once' });
    expect(explanation.flatMap(({ counters }) => counters ?? [])).toEqual([
      { name: 'credits', of: 'key', taken, remaining: 2 },
    ]);
  }
});
