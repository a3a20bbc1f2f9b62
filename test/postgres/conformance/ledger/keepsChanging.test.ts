import { expect, test } from 'bun:test';

import type { Ledger } from '../../../../src/storage/port/storage.ts';
import { describePort, type Setup } from '../adapters.ts';
import { engineOn } from '../engineOn.ts';
import { ACTOR, makeKey, verify } from '../events/toldEvents.ts';

/** An engine whose ledger answers one of its calls always in the same way, and a key with 4 of its 10 credits reserved. */
async function engineWith({ storage }: Setup, answers: Partial<Record<keyof Ledger, unknown>>) {
  const made = engineOn(storage);
  const { keyId, secret } = await makeKey(made, { remaining: 10 });
  const reservation = made.reservations.terms(1_000, 'release');
  await verify(made, secret, { creditCost: 4, reservation });
  const ledger = new Proxy(storage.ledger, {
    get(target, name) {
      if (Object.hasOwn(answers, name)) return async () => answers[name as keyof Ledger];
      const value = Reflect.get(target, name) as unknown;
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  const engine = engineOn({ ...storage, ledger, close: () => storage.close() });
  return { engine, keyId, reservationId: reservation.id };
}

describePort('credits that keep changing', (setup) => {
  test('are settled some other time: whoever asks is told', async () => {
    const { engine, keyId } = await engineWith(setup(), { expireReservations: [] });
    setup().clock.advance(1_000);
    const text = `The credits of ${keyId} keep changing, so what is due to them could not be applied. Try again.`;
    expect(engine.dueCredits.settle(keyId)).rejects.toThrow(text);
    expect(engine.dueCredits.endExpired()).rejects.toThrow(text);
    expect(engine.keys.updateRemaining(ACTOR, keyId, { op: 'set', value: 5 })).rejects.toThrow(text);
    await engine.dueCredits.settle(keyId).catch(() => false);
  });

  test('leave a reservation held that somebody wants to end', async () => {
    const { engine, reservationId } = await engineWith(setup(), { endReservation: { status: 'settleFirst' } });
    expect(engine.reservations.release(ACTOR, reservationId)).rejects.toThrow(
      `The credits of the reservation ${reservationId} keep changing; it is still held. Try again.`,
    );
    expect((await engine.reservations.get(ACTOR, reservationId)).state).toBe('held');
  });
});
