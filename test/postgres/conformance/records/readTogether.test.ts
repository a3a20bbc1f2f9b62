import { expect, test } from 'bun:test';

import { describePort } from '../adapters.ts';
import { credits, openCredits, newReservation, spendOf } from '../samples.ts';

describePort('a balance and what is held', (setup) => {
  test('are read together, at any moment while reservations come and go', async () => {
    const { storage } = setup();
    const { ledger } = storage;
    const account = await openCredits(storage, 1_000);
    const sums = new Set<number>();
    /** Reads without a pause until the work is done. */
    const readDuring = async (work: Promise<unknown>): Promise<void> => {
      let isDone = false;
      const ended = work.finally(() => (isDone = true));
      const look = async (): Promise<void> => {
        const [state] = await ledger.read([account]);
        sums.add((state?.value ?? 0) + (state?.pockets?.held ?? 0));
        await new Promise((turn) => setImmediate(turn));
        if (!isDone) await look();
      };
      await Promise.all([ended, look()]);
    };
    for (let i = 0; i < 100; i++) {
      await readDuring(ledger.reserve(spendOf(credits(account, 30)), newReservation(`rsv_${i}`, { cost: 30 })));
      await readDuring(ledger.endReservation(`rsv_${i}`, { kind: 'release' }));
    }
    expect([...sums]).toEqual([1_000]);
  });
});
