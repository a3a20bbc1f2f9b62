import { afterAll, beforeAll, expect, test } from 'bun:test';

import { type Answer, type CallOptions, TestService } from '../../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await TestService.start({ settings: { KEYSTILE_VERIFY_AUTH: 'required' } });
});

afterAll(async () => {
  await service.close();
});

const KEY = '/v1/keys.verifyKey';

/** Every way to ask for one verdict. */
const WAYS: readonly (readonly [way: string, ask: (key: string, options?: CallOptions) => Promise<Answer>])[] = [
  ['a plain request', (key, options) => service.call(KEY, { key }, options)],
  ['a request with a query', (key, options) => service.call(`${KEY}?pretty`, { key }, options)],
  [
    'a chunked request',
    (key, options) => service.call(KEY, undefined, { ...options, chunks: [JSON.stringify({ key })] }),
  ],
  ['a list of one key', (key, options) => service.call('/v1/keys.verifyKeys', { keys: [{ key }] }, options)],
  ['a reservation', (key, options) => service.call('/v1/reservations.create', { key, cost: 1 }, options)],
  [
    'forward authentication',
    (key, options) => {
      const rootKey = options?.rootKey === null ? {} : { 'keystile-root-key': service.rootKey };
      return service.call('/v1/keys.forwardAuth', undefined, { rootKey: key, headers: rootKey });
    },
  ],
];

/** What the metrics tell of verdicts. */
function counted(): { valid: number; all: number } {
  const { metrics, engine } = service.composed.service;
  const text = metrics.text({
    version: '',
    isReady: true,
    isReadyForExact: true,
    location: '',
    cacheHits: 0,
    cacheMisses: 0,
    cachedKeys: 0,
    cachedIdentities: 0,
    unsavedLocalCounts: 0,
    cluster: null,
    ledgerWaiting: 0,
    lookupsWaiting: 0,
    walBytes: null,
    connections: 0,
    connectionsRefused: 0,
    otherTags: engine.memory.openCounts.tagLists.others,
  });
  const sample = (name: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(name))
        ?.split(' ')[1],
    );
  return { valid: sample('keystile_verdicts_total{code="VALID"}'), all: sample('keystile_verify_seconds_count') };
}

test.each(WAYS)(
  '%s: its verdict is counted once in the metrics, from memory and from the ledger',
  async (_way, ask) => {
    for (const fields of [{}, { remaining: 5 }]) {
      const { key } = await service.createKey(fields);
      const before = counted();
      const { status, body } = await ask(key);
      expect([status, (body.results?.[0] ?? body).code]).toEqual([200, 'VALID']);
      expect(counted()).toEqual({ valid: before.valid + 1, all: before.all + 1 });
    }
  },
);

test.each(WAYS)('%s: without a root key it is refused, asks nothing and counts no verdict', async (way, ask) => {
  const { key, keyId } = await service.createKey({ remaining: 5 });
  const before = counted();
  const { status } = await ask(key, { rootKey: null });
  // A 401 would tell the client of a gateway that its own key is wrong.
  expect([status, counted()]).toEqual([way === 'forward authentication' ? 403 : 401, before]);
  expect((await service.ok('/v1/keys.getKey', { keyId })).remaining).toBe(5);
});

test('a stranger is refused before the body is read: it may be too long, or no JSON', async () => {
  const raw = 'x'.repeat(9_000);
  const answers = await Promise.all([
    service.call(KEY, undefined, { raw, rootKey: null }),
    service.call('/v1/keys.verifyKeys', undefined, { raw, rootKey: null }),
    service.call('/v1/reservations.create', undefined, { raw, rootKey: null }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([401, 401, 401]);
});
