import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import type { TestService } from '../../support/service.ts';

let service: TestService;

const started = reuseService({ startsAt: '2026-03-15T12:00:00Z' });
beforeEach(() => {
  service = started();
});

const codes = (verdicts: readonly { code: string }[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { code } of verdicts) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
};

describe('credits', () => {
  test('1,000 parallel verifications of a key with 100 credits: exactly 100 valid, every remaining value once', async () => {
    const { key } = await service.createKey({ remaining: 100 });
    const verdicts = await Promise.all(Array.from({ length: 1000 }, () => service.verify(key)));
    expect(codes(verdicts)).toEqual({ VALID: 100, USAGE_EXCEEDED: 900 });
    const values = verdicts.filter(({ valid }) => valid).map(({ remaining }) => remaining as number);
    expect(values.sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
  });

  test('1,000 parallel verifications of a key with 1 left: one valid, 999 refused, 0 stored', async () => {
    const { key, keyId } = await service.createKey({ remaining: 1 });
    const verdicts = await Promise.all(Array.from({ length: 1000 }, () => service.verify(key)));
    expect(codes(verdicts)).toEqual({ VALID: 1, USAGE_EXCEEDED: 999 });
    expect((await service.ok('/v1/keys.getKey', { keyId })).remaining).toBe(0);
  });

  test('a cost above what is left is refused and takes nothing; exactly what is left passes', async () => {
    const { key } = await service.createKey({ remaining: 5 });
    expect(await service.verify(key, { remaining: { cost: 6 } })).toMatchObject({
      valid: false,
      code: 'USAGE_EXCEEDED',
      remaining: 5,
    });
    expect(await service.verify(key, { remaining: { cost: 5 } })).toMatchObject({ valid: true, remaining: 0 });
  });

  test('a refusal says when the credits that refused are refilled next: those of the key, of its identity or of its plan', async () => {
    const refill = (interval: string) => ({ remaining: 0, refill: { interval, amount: 5 } });
    await service.ok('/v1/identities.createIdentity', { externalId: 'hourly', ...refill('hourly') });
    await service.ok('/v1/identities.createIdentity', { externalId: 'never', remaining: 0 });
    const { planId } = await service.ok('/v1/plans.createPlan', { name: 'monthly', ...refill('monthly') });
    await service.ok('/v1/identities.createIdentity', { externalId: 'planned' });
    await service.ok('/v1/plans.assign', { externalId: 'planned', planId });
    for (const [fields, at] of [
      [refill('daily'), '2026-03-16T00:00:00Z'],
      [{ externalId: 'hourly' }, '2026-03-15T13:00:00Z'],
      [{ externalId: 'hourly', ...refill('daily') }, '2026-03-16T00:00:00Z'],
      [{ externalId: 'hourly', remaining: 9 }, '2026-03-15T13:00:00Z'],
      [{ externalId: 'never', ...refill('daily'), remaining: 9 }, null],
      [{ externalId: 'planned' }, '2026-04-01T00:00:00Z'],
      [{ remaining: 0 }, null],
    ] as const) {
      const { key } = await service.createKey(fields);
      const { code, nextRefillAt } = await service.verify(key);
      expect([fields, code, nextRefillAt]).toEqual([
        fields,
        'USAGE_EXCEEDED',
        at === null ? undefined : Date.parse(at),
      ]);
    }
    // A limit that refuses says in `reset` when it lets requests pass again.
    const { key } = await service.createKey({
      ...refill('daily'),
      remaining: 1,
      ratelimits: [{ name: 'strict', limit: 1, duration: 60_000, async: false }],
    });
    await service.verify(key);
    const refused = await service.verify(key);
    expect([refused.code, refused.nextRefillAt]).toEqual(['RATE_LIMITED', undefined]);
  });

  test('a cost of 0 is a peek: valid even at 0, and takes nothing', async () => {
    const { key } = await service.createKey({ remaining: 0 });
    expect(await service.verify(key, { remaining: { cost: 0 } })).toMatchObject({ valid: true, remaining: 0 });
    expect(await service.verify(key)).toMatchObject({ valid: false, code: 'USAGE_EXCEEDED', remaining: 0 });
  });

  test('a refusal for any other reason leaves the balance and tells it', async () => {
    const { key, keyId, apiId } = await service.createKey({
      remaining: 3,
      expires: Date.parse('2026-03-16T00:00:00Z'),
      ipAllowlist: ['10.0.0.0/8'],
    });
    expect(await service.verify(key, { apiId: 'api_other' })).toMatchObject({ code: 'FORBIDDEN', remaining: 3 });
    expect(await service.verify(key, { apiId })).toMatchObject({ code: 'FORBIDDEN', remaining: 3 });
    await service.ok('/v1/keys.updateKey', { keyId, enabled: false });
    expect(await service.verify(key)).toMatchObject({ code: 'DISABLED', remaining: 3 });
    await service.ok('/v1/keys.updateKey', { keyId, enabled: true });
    service.clock.set('2026-03-16T00:00:00Z');
    expect(await service.verify(key)).toMatchObject({ code: 'EXPIRED', remaining: 3 });
  });

  test('increments and verifications in parallel add up exactly', async () => {
    const { key, keyId } = await service.createKey({ remaining: 0 });
    const increments = Array.from({ length: 100 }, () =>
      service.ok('/v1/keys.updateRemaining', { keyId, op: 'increment', value: 5 }),
    );
    const verifications = Array.from({ length: 1000 }, () => service.verify(key));
    const verdicts = await Promise.all(verifications);
    await Promise.all(increments);
    const valid = verdicts.filter((verdict) => verdict.valid).length;
    expect((await service.ok('/v1/keys.getKey', { keyId })).remaining).toBe(500 - valid);
  });

  test('setting, raising, lowering and clearing the counter; a decrement stops at 0', async () => {
    const { key, keyId } = await service.createKey({ remaining: 10 });
    const update = (op: string, value: number | null) => service.ok('/v1/keys.updateRemaining', { keyId, op, value });
    expect(await update('increment', 5)).toEqual({ remaining: 15 });
    expect(await update('decrement', 20)).toEqual({ remaining: 0 });
    expect(await update('set', 7)).toEqual({ remaining: 7 });
    expect(await update('set', null)).toEqual({ remaining: null });
    expect(await service.verify(key)).not.toHaveProperty('remaining');
    expect(await update('set', 2)).toEqual({ remaining: 2 });
    expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 1 });
    expect((await service.call('/v1/keys.updateRemaining', { keyId, op: 'increment', value: null })).status).toBe(400);
  });

  test('a balance survives a restart, and the largest one is kept to the unit', async () => {
    const { key, keyId } = await service.createKey({ remaining: Number.MAX_SAFE_INTEGER });
    await service.verify(key);
    await service.restart();
    expect((await service.ok('/v1/keys.getKey', { keyId })).remaining).toBe(Number.MAX_SAFE_INTEGER - 1);
  });
});

describe('idempotency', () => {
  test('a retry with the same idempotency key gets the same verdict, says so, and is charged once', async () => {
    const { key } = await service.createKey({ remaining: 5 });
    const first = await service.call('/v1/keys.verifyKey', { key, idempotencyKey: 'order-0001' }, { rootKey: null });
    const second = await service.call('/v1/keys.verifyKey', { key, idempotencyKey: 'order-0001' }, { rootKey: null });
    expect(first.body).toMatchObject({ valid: true, remaining: 4 });
    expect(second.body).toMatchObject({ valid: true, remaining: 4 });
    expect(first.headers.get('keystile-replayed')).toBeNull();
    expect(second.headers.get('keystile-replayed')).toBe('true');
    expect(await service.verify(key)).toMatchObject({ remaining: 3 });
  });

  test('1,000 parallel retries are one charge', async () => {
    const { key } = await service.createKey({ remaining: 5 });
    const verdicts = await Promise.all(
      Array.from({ length: 1000 }, () => service.verify(key, { idempotencyKey: 'order-0002' })),
    );
    expect(new Set(verdicts.map(({ remaining }) => remaining))).toEqual(new Set([4]));
    expect(await service.verify(key)).toMatchObject({ remaining: 3 });
  });

  test('the same idempotency key with another request is a conflict, also after a restart', async () => {
    const { key } = await service.createKey({ remaining: 5 });
    await service.verify(key, { idempotencyKey: 'order-0003' });
    await service.restart();
    const answer = await service.call(
      '/v1/keys.verifyKey',
      { key, idempotencyKey: 'order-0003', remaining: { cost: 2 } },
      { rootKey: null },
    );
    expect([answer.status, answer.body.error.code]).toEqual([409, 'CONFLICT']);
  });

  test('a refusal is not remembered: when there are credits again, the retry is decided anew', async () => {
    const { key, keyId } = await service.createKey({ remaining: 0 });
    expect(await service.verify(key, { idempotencyKey: 'order-0004' })).toMatchObject({ code: 'USAGE_EXCEEDED' });
    await service.ok('/v1/keys.updateRemaining', { keyId, op: 'set', value: 1 });
    expect(await service.verify(key, { idempotencyKey: 'order-0004' })).toMatchObject({ valid: true, remaining: 0 });
  });

  test('a disabled key is refused although its charge could be replayed', async () => {
    const { key, keyId } = await service.createKey({ remaining: 5 });
    await service.verify(key, { idempotencyKey: 'order-0005' });
    await service.ok('/v1/keys.updateKey', { keyId, enabled: false });
    expect(await service.verify(key, { idempotencyKey: 'order-0005' })).toMatchObject({
      code: 'DISABLED',
      remaining: 4,
    });
  });

  test('an idempotency key is remembered for at least the retention and forgotten after two', async () => {
    const { key } = await service.createKey({ remaining: 5 });
    await service.engine.storage.ledger.prune();
    await service.verify(key, { idempotencyKey: 'order-0006' });
    service.clock.advance(3_600_000);
    await service.engine.storage.ledger.prune();
    expect(await service.verify(key, { idempotencyKey: 'order-0006' })).toMatchObject({ remaining: 4 });
    service.clock.advance(3_600_000);
    await service.engine.storage.ledger.prune();
    expect(await service.verify(key, { idempotencyKey: 'order-0006' })).toMatchObject({ remaining: 3 });
  });

  test('a local retry charges a local limit once when it goes with credits', async () => {
    const { key } = await service.createKey({ remaining: 5, ratelimit: { limit: 10, duration: 60_000 } });
    await service.verify(key, { idempotencyKey: 'order-0007' });
    const again = await service.verify(key, { idempotencyKey: 'order-0007' });
    expect(again).toMatchObject({ valid: true, remaining: 4, ratelimit: { remaining: 9 } });
  });
});
