import { Database } from 'bun:sqlite';
import { beforeEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';

import { reuseService } from '../../support/reusedService.ts';
import { TestService } from '../../support/service.ts';

let service: TestService;

const started = reuseService({ startsAt: '2026-03-15T12:00:00Z' });
beforeEach(() => {
  service = started();
});

/** What a person with a shell, or a bug, could do to the tables. */
function damage(sql: string, ...params: string[]): void {
  const db = new Database(join(service.folder, 'keystile.db'));
  db.run('PRAGMA busy_timeout = 5000');
  expect(db.query(sql).run(...params).changes).toBeGreaterThan(0);
  db.close();
}

describe('a stored row that cannot be read harms its own key alone', () => {
  test('a damaged replay fails the retry that it belongs to, by the id of its key; all others are charged on', async () => {
    const [{ key, keyId }, other] = [
      await service.createKey({ remaining: 5 }),
      await service.createKey({ remaining: 5 }),
    ];
    await service.verify(key, { idempotencyKey: 'order-0001' });
    damage("UPDATE idempotency_0 SET outcome = 'x'");
    const retry = service.call('/v1/keys.verifyKey', { key, idempotencyKey: 'order-0001' }, { rootKey: null });
    const [answer, verdict] = await Promise.all([retry, service.verify(other.key)]);
    expect([answer.status, answer.body.error.code]).toEqual([500, 'INTERNAL_SERVER_ERROR']);
    expect(answer.body.error.message).toContain(keyId);
    expect(verdict).toMatchObject({ valid: true, remaining: 4 });
    expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 3 });
    expect(service.broken).toEqual([]);
  });

  test('a key with damaged metadata is left out of a listing, names itself when asked for, and can be removed', async () => {
    const apiId = await service.createApi();
    const [bad, good] = [await service.createKey({ apiId, meta: { a: 1 } }), await service.createKey({ apiId })];
    damage("UPDATE keys SET meta = '{' WHERE id = ?", bad.keyId);
    const listed = await service.ok('/v1/apis.listKeys', { apiId });
    expect(listed.keys.map(({ id }: { id: string }) => id)).toEqual([good.keyId]);
    const asked = await service.call('/v1/keys.getKey', { keyId: bad.keyId });
    expect([asked.status, asked.body.error.message.includes(bad.keyId)]).toEqual([500, true]);
    await service.ok('/v1/keys.deleteKey', { keyId: bad.keyId, permanent: true });
    expect(await service.verify(bad.key)).toMatchObject({ code: 'NOT_FOUND' });
    expect((await service.ok('/v1/apis.listKeys', { apiId })).total).toBe(1);
  });

  test('a refill in a time zone that nobody knows stops neither the sweep nor the refills of others', async () => {
    const fields = { remaining: 0, refill: { interval: 'daily', amount: 7 } };
    const [bad, good] = [await service.createKey(fields), await service.createKey(fields)];
    damage(`UPDATE keys SET credits = replace(credits, 'UTC', 'Mars/Olympus') WHERE id = ?`, bad.keyId);
    service.clock.advance(12 * 3_600_000);
    expect(await service.engine.dueCredits.sweep()).toBe(1);
    expect(await service.verify(good.key)).toMatchObject({ valid: true, remaining: 6 });
    const answer = await service.call('/v1/keys.verifyKey', { key: bad.key }, { rootKey: null });
    expect([answer.status, answer.body.error.message.includes(bad.keyId)]).toEqual([500, true]);
  });
});

describe('idempotency keys', () => {
  test('a retry is answered as it was although the local limit is used up by now', async () => {
    const { key } = await service.createKey({ remaining: 5, ratelimit: { limit: 1, duration: 60_000 } });
    const ask = () => service.verify(key, { idempotencyKey: 'order-0001' });
    const answers = await Promise.all([ask(), ask(), ask()]);
    for (const answer of [...answers, await ask()]) expect(answer).toMatchObject({ valid: true, remaining: 4 });
    expect(await service.verify(key, { idempotencyKey: 'order-0002' })).toMatchObject({
      code: 'RATE_LIMITED',
      remaining: 4,
    });
  });

  test.each([
    ['30m', 'shorter'],
    ['2h', 'longer'],
  ])('are forgotten after two retentions also when the retention becomes %s (%s)', async (retention) => {
    const { key } = await service.createKey({ remaining: 5 });
    await service.verify(key, { idempotencyKey: 'order-0001' });
    await service.stop();
    const changed = await TestService.start({
      folder: service.folder,
      startsAt: service.clock.nowMs(),
      settings: { KEYSTILE_IDEMPOTENCY_RETENTION: retention },
    });
    for (let hour = 0; hour < 4; hour++) {
      changed.clock.advance(3_600_000);
      await changed.engine.storage.ledger.prune();
    }
    expect(await changed.verify(key, { idempotencyKey: 'order-0001' })).toMatchObject({ remaining: 3 });
    await changed.stop();
    await service.open();
  });
});

test('a full disk is a warning for what is answered from memory, and 503 for exact traffic, until the next commit', async () => {
  const { key } = await service.createKey({ remaining: 100_000 });
  const local = await service.createKey({ ratelimit: { async: true, limit: 10, duration: 60_000 } });
  const ready = async (target: string) => {
    const { status, body } = await service.call(target, undefined, { method: 'GET', rootKey: null });
    return [status, body];
  };
  const both = () => Promise.all(['/v1/readiness', '/v1/readiness?for=exact'].map(ready));
  const well = [200, { ready: true, reasons: [], warnings: [] }];
  expect(await both()).toEqual([well, well]);
  await service.verify(local.key);
  await service.fillDisk();
  const reason = 'The disk is full; nothing was spent or changed.';
  expect(await both()).toEqual([
    [200, { ready: true, reasons: [], warnings: [`Only what needs no database is answered: ${reason}`] }],
    [503, { ready: false, reasons: [reason], warnings: [] }],
  ]);
  expect(await service.verify(local.key)).toMatchObject({ valid: true });
  await service.storage.setMaxPages(null);
  expect(await service.verify(key)).toMatchObject({ valid: true });
  expect(await both()).toEqual([well, well]);
});

test.each([
  ['for=exakt', 'for'],
  ['fro=exact', 'fro'],
  ['for=exact&for=exact', 'for'],
])(
  'readiness that is asked for something unknown (%s) says so, so that a balancer is not misled',
  async (query, path) => {
    const answer = await service.call(`/v1/readiness?${query}`, undefined, { method: 'GET', rootKey: null });
    expect([answer.status, answer.body.error.issues.map((issue: { path: string }) => issue.path)]).toEqual([
      400,
      [path],
    ]);
    expect(
      (await service.call('/v1/readiness?for=exact&pretty', undefined, { method: 'GET', rootKey: null })).status,
    ).toBe(200);
  },
);

test('an ad-hoc limit with the numbers of a configured one is the same counter, in both modes', async () => {
  for (const async of [true, false]) {
    const { key } = await service.createKey({ ratelimit: { async, limit: 10, duration: 60_000 } });
    await service.verify(key);
    const asked = await service.verify(key, { ratelimits: [{ name: 'default', limit: 10, duration: 60_000 }] });
    expect(asked).toMatchObject({ valid: true, ratelimit: { remaining: 8 } });
  }
});

describe('what strangers cause is one line of the log in a second', () => {
  /** The lines since the last look, with what the log writes of held back lines when a second is over. */
  function linesOf(message: string): { path: string; times: number }[] {
    service.clock.advance(1000);
    service.composed.service.log.writeHeldBack();
    const lines = service.logLines.splice(0).map((line) => JSON.parse(line) as Record<string, unknown>);
    return lines
      .filter((line) => line['message'] === message)
      .map(({ path, times = 1 }) => ({ path: String(path), times: Number(times) }));
  }

  test('400 requests of a gateway without a root key', async () => {
    await service.close();
    service = await TestService.start({ settings: { KEYSTILE_VERIFY_AUTH: 'required' } });
    try {
      const headers = { 'x-api-key': 'a-key-of-the-client' };
      const answers = await Promise.all(
        Array.from({ length: 400 }, () => service.call('/v1/keys.forwardAuth', undefined, { rootKey: null, headers })),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([403]));
      const path = '/v1/keys.forwardAuth';
      expect(linesOf('refused')).toEqual([
        { path, times: 1 },
        { path, times: 399 },
      ]);
      // A root key that lacks a right is another kind: nothing hides it.
      const { secret } = await service.engine.rootKeys.create({
        name: null,
        rights: ['api.*.read_key'],
        expiresAtMs: null,
      });
      await service.call('/v1/keys.forwardAuth', undefined, { rootKey: null, headers });
      await service.call('/v1/apis.createApi', { name: 'other' }, { rootKey: secret });
      const paths = linesOf('refused').map((line) => line.path);
      expect(paths.toSorted()).toEqual(['/v1/apis.createApi', path]);
    } finally {
      await service.close();
    }
  });

  test('51 requests for a damaged record', async () => {
    const { keyId } = await service.createKey({ meta: { a: 1 } });
    damage("UPDATE keys SET meta = '{' WHERE id = ?", keyId);
    service.logLines.length = 0;
    for (let i = 0; i < 51; i++) await service.call('/v1/keys.getKey', { keyId });
    expect(linesOf('request failed')).toEqual([
      { path: '/v1/keys.getKey', times: 1 },
      { path: '/v1/keys.getKey', times: 50 },
    ]);
  });
});
