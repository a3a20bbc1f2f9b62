import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';

import { TestService } from '../../support/service.ts';

let service: TestService;

beforeEach(async () => {
  service = await TestService.start({ startsAt: '2026-03-15T23:59:50Z' });
});

afterEach(async () => {
  await service.close();
});

/** `count` values going down from `top` - 1: what a balance of `top` answers when it is taken one by one. */
const countdown = (top: number, count: number): number[] => Array.from({ length: count }, (_, i) => top - 1 - i);
const descending = (values: number[]): number[] => values.sort((a, b) => b - a);

/** Begins 10,000 verifications in 100 portions, with midnight in the middle of them and none awaited before the end. */
async function crossMidnight(key: string): Promise<{ valid: boolean; remaining: number }[]> {
  const verdicts: Promise<{ valid: boolean; remaining: number }>[] = [];
  for (let portion = 0; portion < 100; portion++) {
    if (portion === 50) service.clock.set('2026-03-16T00:00:00Z');
    for (let i = 0; i < 100; i++) verdicts.push(service.verify(key));
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return Promise.all(verdicts);
}

describe('10,000 verifications across midnight', () => {
  test('restore: each success is charged to exactly one day, and the refill comes once', async () => {
    const { key, keyId } = await service.createKey({ remaining: 9000, refill: { interval: 'daily', amount: 20_000 } });
    const verdicts = await crossMidnight(key);
    const after = 20_000 - ((await service.ok('/v1/keys.getKey', { keyId })).remaining as number);
    expect(after).toBeGreaterThanOrEqual(5000);
    const expected = [...countdown(20_000, after), ...countdown(9000, 10_000 - after)];
    expect(verdicts.every(({ valid }) => valid)).toBe(true);
    expect(descending(verdicts.map(({ remaining }) => remaining))).toEqual(expected);
  });

  test('add: what was there and what was added are used up to the unit, never more', async () => {
    const refill = { interval: 'daily', amount: 2000, mode: 'add' };
    const { key, keyId } = await service.createKey({ remaining: 6000, refill });
    const verdicts = await crossMidnight(key);
    expect(verdicts.filter(({ valid }) => valid).length).toBe(8000);
    expect((await service.ok('/v1/keys.getKey', { keyId })).remaining).toBe(0);
  });
});

describe('the background sweep', () => {
  /** The accounts table as a person with a shell sees it. */
  function storedBalances(): { value: number; due_at_ms: number }[] {
    const db = new Database(join(service.folder, 'keystile.db'), { readonly: true });
    try {
      return db.query('SELECT value, due_at_ms FROM accounts ORDER BY id').all() as {
        value: number;
        due_at_ms: number;
      }[];
    } finally {
      db.close();
    }
  }

  test('writes down the refills of keys that nobody touched', async () => {
    const apiId = await service.createApi();
    await service.createKey({ apiId, remaining: 1, refill: { interval: 'daily', amount: 10 } });
    await service.createKey({ apiId, remaining: 1, refill: { interval: 'daily', amount: 10, mode: 'add' } });
    await service.createKey({ apiId, remaining: 1, refill: { interval: 'monthly', amount: 10 } });
    await service.createKey({ apiId, remaining: 1 });
    await service.restart();
    expect(await service.engine.dueCredits.sweep()).toBe(0);
    service.clock.set('2026-03-17T00:00:00Z');
    expect(await service.engine.dueCredits.sweep()).toBe(2);
    await service.stop();
    expect(storedBalances()).toEqual([
      { value: 10, due_at_ms: Date.parse('2026-03-18T00:00:00Z') },
      { value: 21, due_at_ms: Date.parse('2026-03-18T00:00:00Z') },
      { value: 1, due_at_ms: Date.parse('2026-04-01T00:00:00Z') },
      { value: 1, due_at_ms: 0 },
    ]);
  });

  test('run again, or after a touch, it writes nothing and refills nothing twice', async () => {
    const refill = { interval: 'daily', amount: 10, mode: 'add' };
    const { key } = await service.createKey({ remaining: 1, refill });
    await service.restart();
    service.clock.set('2026-03-16T00:00:00Z');
    expect(await service.verify(key)).toMatchObject({ remaining: 10 });
    for (let run = 0; run < 2; run++) expect(await service.engine.dueCredits.sweep()).toBe(0);
    await service.stop();
    expect(storedBalances()).toEqual([{ value: 10, due_at_ms: Date.parse('2026-03-17T00:00:00Z') }]);
  });

  test('goes past one step: 450 due keys are all written down in one run', async () => {
    const apiId = await service.createApi();
    const refill = { interval: 'daily', amount: 10 };
    await Promise.all(Array.from({ length: 450 }, () => service.createKey({ apiId, remaining: 0, refill })));
    await service.restart();
    service.clock.set('2026-03-16T00:00:00Z');
    expect(await service.engine.dueCredits.sweep()).toBe(450);
    await service.stop();
    expect(storedBalances().filter(({ value }) => value === 10).length).toBe(450);
  });

  test('passes over keys that were deleted, and refills a disabled one', async () => {
    const apiId = await service.createApi();
    const refill = { interval: 'daily', amount: 10 };
    const gone = await service.createKey({ apiId, remaining: 1, refill });
    await service.createKey({ apiId, remaining: 2, refill, enabled: false });
    await service.ok('/v1/keys.deleteKey', { keyId: gone.keyId });
    await service.restart();
    service.clock.set('2026-03-16T00:00:00Z');
    expect(await service.engine.dueCredits.sweep()).toBe(1);
    await service.stop();
    expect(storedBalances().map(({ value }) => value)).toEqual([1, 10]);
  });
});
