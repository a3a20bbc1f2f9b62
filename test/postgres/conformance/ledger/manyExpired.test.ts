import { expect, test } from 'bun:test';

import type { Ledger } from '../../../../src/storage/port/storage.ts';
import { describePort } from '../adapters.ts';
import { engineOn } from '../engineOn.ts';
import { api, credits, key, newReservation, spendOf } from '../samples.ts';
import { verify } from '../events/toldEvents.ts';

const HOLDS = 150;

describePort('many reservations that expire at the same time', (setup) => {
  test('every verification that comes then is answered, and all credits are back; they are ended in few commits', async () => {
    const { storage, clock } = setup();
    const [account = 0] = await storage.ledger.reserveAccounts(1);
    await storage.ledger.apply({
      writes: [
        { kind: 'insertApi', api: api('api_1') },
        { kind: 'insertKey', key: key('key_1', { credits: { account, refill: null } }) },
      ],
      accounts: [{ account, expect: 0, open: 'credits', refill: null, set: HOLDS + 20, revision: 1 }],
    });
    for (let i = 0; i < HOLDS; i++)
      await storage.ledger.reserve(spendOf(credits(account, 1)), newReservation(`rsv_${i}`));
    clock.advance(60_000);
    const calls: number[] = [];
    const ledger = new Proxy(storage.ledger, {
      get(target, name) {
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== 'function') return value;
        if (name !== 'expireReservations') return value.bind(target) as unknown;
        return (expired: Parameters<Ledger['expireReservations']>[0]) => {
          calls.push(expired.length);
          return target.expireReservations(expired);
        };
      },
    });
    const engine = engineOn({ ...storage, ledger, close: () => storage.close() });
    const verdicts = await Promise.all(Array.from({ length: 20 }, () => verify(engine, 'digest of key_1')));
    expect(verdicts.map(({ code }) => code)).toEqual(verdicts.map(() => 'VALID'));
    expect(calls).toEqual([100, 50]);
    const [state] = await storage.ledger.read([account]);
    expect(state).toMatchObject({ value: HOLDS, dueAtMs: 0 });
    expect(state?.pockets).toBeUndefined();
    expect(await storage.events.list({ after: 0, types: ['reservation.expired'], limit: 1_000 })).toHaveLength(HOLDS);
  });
});
