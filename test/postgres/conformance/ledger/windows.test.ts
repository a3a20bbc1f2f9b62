import { expect, test } from 'bun:test';

import { describePort } from '../adapters.ts';
import { openStrict, spendOf, stateOf, strict, spendAll } from '../samples.ts';

describePort('strict windows', (setup) => {
  test('the spend after the limit is refused until the window rolls, to the millisecond', async () => {
    const { storage, clock } = setup();
    clock.set(120_000 + 59_000);
    const account = await openStrict(storage);
    const take = () => storage.ledger.spend(spendOf(strict(account, 1, 2)));
    expect(await take()).toMatchObject({ status: 'taken', charges: [{ left: 1, resetAtMs: 180_000 }] });
    expect(await take()).toMatchObject({ status: 'taken', charges: [{ left: 0, resetAtMs: 180_000 }] });
    expect(await take()).toMatchObject({ status: 'refused', charges: [{ left: 0, resetAtMs: 180_000 }] });
    clock.set(179_999);
    expect((await take()).status).toBe('refused');
    clock.set(180_000);
    expect(await take()).toMatchObject({ status: 'taken', charges: [{ left: 1, resetAtMs: 240_000 }] });
  });

  test('a clock set back keeps the window and its count', async () => {
    const { storage, clock } = setup();
    clock.set(600_000);
    const account = await openStrict(storage);
    const take = () => storage.ledger.spend(spendOf(strict(account, 1, 1)));
    expect(await take()).toMatchObject({ status: 'taken', charges: [{ resetAtMs: 660_000 }] });
    for (const nowMs of [540_000, 1, 659_999]) {
      clock.set(nowMs);
      expect(await take()).toMatchObject({ status: 'refused', charges: [{ resetAtMs: 660_000 }] });
    }
    clock.set(660_000);
    expect((await take()).status).toBe('taken');
  });

  test('a raised limit keeps the running count; a lowered one leaves nothing and refuses even a cost of 0', async () => {
    const { storage } = setup();
    const account = await openStrict(storage);
    const take = (amount: number, limit: number) => storage.ledger.spend(spendOf(strict(account, amount, limit)));
    expect(await take(3, 3)).toMatchObject({ status: 'taken', charges: [{ left: 0 }] });
    expect(await take(0, 3)).toMatchObject({ status: 'taken', charges: [{ left: 0 }] });
    expect(await take(1, 5)).toMatchObject({ status: 'taken', charges: [{ left: 1 }] });
    expect(await take(0, 2)).toMatchObject({ status: 'refused', charges: [{ left: 0 }] });
    expect((await stateOf(storage, account))?.value).toBe(4);
  });

  test('a cost above the limit is refused in an empty window and leaves it empty', async () => {
    const { storage, clock } = setup();
    const account = await openStrict(storage);
    const outcome = await storage.ledger.spend(spendOf(strict(account, Number.MAX_SAFE_INTEGER, 5)));
    expect(outcome).toMatchObject({ status: 'refused', charges: [{ left: 5, resetAtMs: clock.nowMs() + 60_000 }] });
    expect((await storage.ledger.spend(spendOf(strict(account, 5, 5)))).status).toBe('taken');
  });

  test('a thousand at once in two windows: the limit in each, never one more', async () => {
    const { storage, clock } = setup();
    const account = await openStrict(storage);
    const burst = async () => {
      const all = Array.from({ length: 1000 }, () => spendOf(strict(account, 1, 70)));
      return (await spendAll(storage.ledger, all)).filter(({ status }) => status === 'taken').length;
    };
    expect(await burst()).toBe(70);
    clock.advance(60_000);
    expect(await burst()).toBe(70);
    clock.advance(-60_000);
    expect(await burst()).toBe(0);
  });
});
