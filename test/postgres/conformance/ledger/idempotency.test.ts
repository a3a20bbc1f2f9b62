import { expect, test } from 'bun:test';

import { MAX_LIVE_IDEMPOTENCY_KEYS } from '../../../../src/core/bounds.ts';
import type { IdempotencyKey, SpendOutcome } from '../../../../src/core/spend.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import { describePort } from '../adapters.ts';
import { RETENTION_MS } from '../openAdapter.ts';
import { balanceOf, change, credits, idempotency, openCredits, spendAll, spendOf } from '../samples.ts';

function take(storage: Storage, account: number, key: IdempotencyKey, amount = 1) {
  return storage.ledger.spend({ ...spendOf(credits(account, amount)), idempotency: key });
}

describePort('idempotency keys', (setup) => {
  test('the same request again gets the first answer with its time, and is charged once', async () => {
    const { storage, clock } = setup();
    const account = await openCredits(storage, 10);
    const first = await take(storage, account, idempotency('a'), 3);
    expect(first).toMatchObject({ status: 'taken', charges: [{ left: 7 }], replayed: false });
    await take(storage, account, idempotency('b'), 2);
    clock.advance(1000);
    expect(await take(storage, account, idempotency('a'), 3)).toEqual({ ...first, replayed: true } as never);
    expect(await balanceOf(storage, account)).toBe(5);
  });

  // On PostgreSQL each of them is a batch of its own, behind the one before.
  test('many at once are one charge and one answer', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 10);
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => take(storage, account, idempotency('a'))));
    expect(outcomes.map((outcome) => outcome.status === 'taken' && outcome.replayed)).toEqual(
      outcomes.map((_, i) => i > 0),
    );
    expect(await balanceOf(storage, account)).toBe(9);
  });

  test('another request under the same key is a conflict, in the same batch and later, and takes nothing', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 10);
    const outcomes = await Promise.all([
      take(storage, account, idempotency('a', 'one')),
      take(storage, account, idempotency('a', 'two')),
    ]);
    expect(outcomes[1]).toEqual({ status: 'conflict' });
    expect(await take(storage, account, idempotency('a', 'two'))).toEqual({ status: 'conflict' });
    expect(await balanceOf(storage, account)).toBe(9);
  });

  test('keys of two scopes never meet, whatever characters they hold', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 10);
    const outcomes = await Promise.all([
      take(storage, account, { scope: 'a', id: 'b c', requestDigest: 'one' }),
      take(storage, account, { scope: 'a b', id: 'c', requestDigest: 'two' }),
      take(storage, account, { scope: 'b', id: 'b c', requestDigest: 'three' }),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['taken', 'taken', 'taken']);
    expect(await balanceOf(storage, account)).toBe(7);
  });

  test('a refusal and a spend of nothing are not remembered', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 0);
    expect((await take(storage, account, idempotency('a'))).status).toBe('refused');
    expect(await take(storage, account, idempotency('a', 'peek'), 0)).toMatchObject({ replayed: false });
    await storage.ledger.apply(change({ account, expect: 1, refill: null, set: 1, revision: 1 }));
    expect(await take(storage, account, idempotency('a'))).toMatchObject({ status: 'taken', replayed: false });
  });

  test('staleness comes before the replay: a revoked key does not answer from the past', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 10);
    await take(storage, account, idempotency('a'));
    await storage.ledger.apply(change({ account, expect: 1, refill: null, revision: 2 }));
    expect((await take(storage, account, idempotency('a'))).status).toBe('stale');
  });

  test('a replay is answered after a reopen and after an unclean end', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 10);
    const first = await take(storage, account, idempotency('a'), 3);
    const copy = await setup().afterCrash();
    await setup().reopen();
    for (const later of [copy, setup().storage]) {
      expect(await take(later, account, idempotency('a'), 3)).toEqual({ ...first, replayed: true } as never);
      expect(await take(later, account, idempotency('a', 'other'), 3)).toEqual({ status: 'conflict' });
      expect(await balanceOf(later, account)).toBe(7);
    }
  });

  test('one scope holds 10,000 live keys: the next is crowded and takes nothing, a replay and other scopes go on', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 20_000);
    const spends = Array.from({ length: MAX_LIVE_IDEMPOTENCY_KEYS + 2 }, (_, i) => ({
      ...spendOf(credits(account, 1)),
      idempotency: idempotency(`n${i}`),
    }));
    // In parts: a ledger refuses what has to wait for too long.
    const outcomes: SpendOutcome[] = [];
    for (let i = 0; i < spends.length; i += 1_000)
      outcomes.push(...(await spendAll(storage.ledger, spends.slice(i, i + 1_000))));
    expect(outcomes.filter(({ status }) => status === 'taken').length).toBe(MAX_LIVE_IDEMPOTENCY_KEYS);
    expect(outcomes.slice(-2)).toEqual([{ status: 'tooManyLive' }, { status: 'tooManyLive' }]);
    expect(await take(storage, account, idempotency('n77'))).toMatchObject({ replayed: true });
    expect((await take(storage, account, idempotency('n1', 'r', 'key_2'))).status).toBe('taken');
    await setup().reopen();
    expect(await take(setup().storage, account, idempotency('new'))).toEqual({ status: 'tooManyLive' });
    expect(await balanceOf(setup().storage, account)).toBe(20_000 - MAX_LIVE_IDEMPOTENCY_KEYS - 1);
  });

  test('pruning forgets after two retention periods at the latest, and makes room', async () => {
    const { storage, clock } = setup();
    const account = await openCredits(storage, 10);
    await storage.ledger.prune();
    await take(storage, account, idempotency('a'));
    for (let i = 0; i < 2; i++) {
      clock.advance(RETENTION_MS);
      await storage.ledger.prune();
    }
    expect(await take(storage, account, idempotency('a'))).toMatchObject({ status: 'taken', replayed: false });
    expect(await balanceOf(storage, account)).toBe(8);
  });

  test('a key lives for the whole retention, whenever in a period it was made and however often is pruned', async () => {
    for (const madeAtMs of [0, 1, RETENTION_MS / 2, RETENTION_MS - 1]) {
      const { storage, clock } = setup();
      clock.set(Math.ceil(clock.nowMs() / RETENTION_MS + 3) * RETENTION_MS);
      await storage.ledger.prune();
      clock.advance(madeAtMs);
      const account = await openCredits(storage, 10);
      await take(storage, account, idempotency(`made at ${madeAtMs}`));
      for (let i = 0; i < 10; i++) {
        await storage.ledger.prune();
        expect(await take(storage, account, idempotency(`made at ${madeAtMs}`))).toMatchObject({ replayed: true });
        clock.advance(RETENTION_MS / 10);
      }
    }
  });

  test('the first pruning of a new database forgets nothing that was just made', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 10);
    await take(storage, account, idempotency('a'));
    await storage.ledger.prune();
    expect(await take(storage, account, idempotency('a'))).toMatchObject({ replayed: true });
  });

  test('the first pruning after a long downtime forgets nothing that was made since', async () => {
    const { storage, clock } = setup();
    const account = await openCredits(storage, 10);
    await storage.ledger.prune();
    clock.advance(5 * RETENTION_MS);
    await setup().reopen();
    await take(setup().storage, account, idempotency('a'));
    await setup().storage.ledger.prune();
    expect(await take(setup().storage, account, idempotency('a'))).toMatchObject({ replayed: true });
  });

  test('a key made in a new period before anyone pruned lives for the whole retention too', async () => {
    const { storage, clock } = setup();
    await storage.ledger.prune();
    clock.set((Math.floor(clock.nowMs() / RETENTION_MS) + 1) * RETENTION_MS + 30_000);
    const account = await openCredits(storage, 10);
    await take(storage, account, idempotency('a'));
    clock.advance(30_000);
    await storage.ledger.prune();
    clock.advance(RETENTION_MS - 60_000);
    await storage.ledger.prune();
    clock.advance(29_000);
    expect(await take(storage, account, idempotency('a'))).toMatchObject({ replayed: true });
  });

  test('a clock set back forgets nothing', async () => {
    const { storage, clock } = setup();
    const account = await openCredits(storage, 10);
    await storage.ledger.prune();
    await take(storage, account, idempotency('a'));
    for (const hours of [-5, 5, -1]) {
      clock.advance(hours * RETENTION_MS);
      await storage.ledger.prune();
      expect(await take(storage, account, idempotency('a'))).toMatchObject({ replayed: true });
    }
  });
});
