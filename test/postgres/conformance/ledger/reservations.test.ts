import { expect, test } from 'bun:test';

import type { AccountMark } from '../../../../src/core/account.ts';
import { recordFence } from '../../../../src/core/fence.ts';
import type {
  EndOutcome,
  NewReservation,
  Reservation,
  ReserveOutcome,
  UserEnding,
} from '../../../../src/core/reservation.ts';
import type { Charge } from '../../../../src/core/spend.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import { describePort } from '../adapters.ts';
import {
  balanceOf,
  change,
  credits,
  key,
  openCredits,
  openStrict,
  newReservation,
  spendOf,
  strict,
  write,
} from '../samples.ts';

const MINUTE_MS = 60_000;
const RELEASE: UserEnding = { kind: 'release' };
const settling = (cost: number, allowOverage = false): UserEnding => ({ kind: 'settle', cost, allowOverage });

let made = 0;

function wanted(cost: number, fields: Partial<NewReservation> = {}): NewReservation {
  return newReservation(`rsv_${String(++made).padStart(6, '0')}`, { cost, ...fields });
}

function reserve(
  { ledger }: Storage,
  charges: readonly Charge[],
  fields: Partial<NewReservation> & { readonly cost: number },
): Promise<ReserveOutcome> {
  return ledger.reserve(spendOf(...charges), wanted(fields.cost, fields));
}

/** A reservation that is made. */
async function held(
  storage: Storage,
  charges: readonly Charge[],
  fields: Partial<NewReservation> & { readonly cost: number },
): Promise<Reservation> {
  const { spend, reservation } = await reserve(storage, charges, fields);
  if (reservation === null) throw new Error(`nothing is held: ${JSON.stringify(spend)}`);
  return reservation;
}

const end = ({ ledger }: Storage, { id }: { id: string }, ending: UserEnding): Promise<EndOutcome> =>
  ledger.endReservation(id, ending);

/** Answers how many of them have ended. */
async function expire(
  { ledger }: Storage,
  reservations: readonly Reservation[],
  marks: readonly AccountMark[],
): Promise<number> {
  const ended = await ledger.expireReservations(
    reservations.map((each) => ({
      reservation: each,
      marks,
      event: { id: `evt_${each.id}`, type: 'reservation.expired', data: '{}' },
    })),
  );
  for (const { state } of ended) expect(state).toBe('expired');
  return ended.length;
}

const pocketsOf = async ({ ledger }: Storage, account: number) => (await ledger.read([account]))[0]?.pockets;

describePort('reservations', (setup) => {
  test('hold what they may cost; a settlement charges its cost and returns the rest, in all accounts together', async () => {
    const { storage, clock } = setup();
    const [own, shared, window] = [
      await openCredits(storage, 100),
      await openCredits(storage, 50),
      await openStrict(storage),
    ];
    const charges = [strict(window, 1, 10), credits(own, 40), credits(shared, 40)];
    const outcome = await reserve(storage, charges, { cost: 40, identityId: 'id_1' });
    expect(outcome.spend).toMatchObject({ status: 'taken', charges: [{ left: 9 }, { left: 60 }, { left: 10 }] });
    expect(await storage.reservations.find(outcome.reservation?.id ?? '')).toEqual(outcome.reservation);
    expect([await balanceOf(storage, own), await balanceOf(storage, shared)]).toEqual([60, 10]);
    expect(await pocketsOf(storage, own)).toMatchObject({ held: 40, heldUntilMs: clock.nowMs() + MINUTE_MS });
    const ended = await end(storage, outcome.reservation as Reservation, settling(25));
    const facts = {
      state: 'settled',
      charged: 25,
      returned: 15,
      remaining: 25,
      settledCost: 25,
      endedAtMs: clock.nowMs(),
    };
    expect(ended).toMatchObject({ status: 'done', reservation: facts });
    expect([await balanceOf(storage, own), await balanceOf(storage, shared)]).toEqual([75, 25]);
    expect([await pocketsOf(storage, own), await balanceOf(storage, window)]).toEqual([undefined, 1]);
    expect(await storage.reservations.find(outcome.reservation?.id ?? '')).toMatchObject(facts);
  });

  test('take nothing when one account has too little', async () => {
    const { storage } = setup();
    const [own, shared] = [await openCredits(storage, 100), await openCredits(storage, 39)];
    const outcome = await reserve(storage, [credits(own, 40), credits(shared, 40)], { cost: 40 });
    expect(outcome).toMatchObject({ spend: { status: 'refused', by: 1 }, reservation: null });
    expect([await balanceOf(storage, own), await pocketsOf(storage, own)]).toEqual([100, undefined]);
  });

  test('a release returns all, to running windows too; one that has ended gets nothing', async () => {
    const { storage, clock } = setup();
    const [own, window] = [await openCredits(storage, 100), await openStrict(storage)];
    const charges = [strict(window, 3, 10, MINUTE_MS), credits(own, 40)];
    const [first, second] = [
      await held(storage, charges, { cost: 40 }),
      await held(storage, charges, { cost: 40, ttlMs: 5 * MINUTE_MS }),
    ];
    expect(await end(storage, first, RELEASE)).toMatchObject({ reservation: { state: 'released', returned: 40 } });
    expect([await balanceOf(storage, own), await balanceOf(storage, window)]).toEqual([60, 3]);
    clock.advance(MINUTE_MS);
    await storage.ledger.spend(spendOf(strict(window, 5, 10, MINUTE_MS)));
    await storage.ledger.apply(
      change({
        account: own,
        expect: 1,
        refill: null,
        dueAtMs: 0,
        revision: 1,
        heldUntil: { atMs: second.expiresAtMs, newest: second.id },
      }),
    );
    expect(await end(storage, second, RELEASE)).toMatchObject({ status: 'done' });
    expect([await balanceOf(storage, own), await balanceOf(storage, window)]).toEqual([100, 5]);
  });

  test('an overage takes what there is, of the account that has least', async () => {
    const { storage } = setup();
    const [own, shared] = [await openCredits(storage, 100), await openCredits(storage, 45)];
    const reservation = await held(storage, [credits(own, 40), credits(shared, 40)], { cost: 40 });
    expect(await end(storage, reservation, settling(60))).toMatchObject({ status: 'too much' });
    expect(await end(storage, reservation, settling(60, true))).toMatchObject({
      reservation: { charged: 45, returned: 0, remaining: 0, settledCost: 60 },
    });
    expect([await balanceOf(storage, own), await balanceOf(storage, shared)]).toEqual([55, 0]);
  });

  test('end once: whoever comes later is told how', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 100);
    for (let round = 1; round <= 5; round++) {
      const reservation = await held(storage, [credits(account, 10)], { cost: 10 });
      const outcomes = await Promise.all(
        [RELEASE, settling(10), settling(5)].map((each) => end(storage, reservation, each)),
      );
      expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['done', 'not held', 'not held']);
      const [done] = outcomes.flatMap((each) => (each.status === 'done' ? each.reservation : []));
      for (const each of outcomes)
        if (each.status === 'not held') expect(each.reservation).toEqual(done as Reservation);
      await storage.ledger.apply(change({ account, expect: 1, refill: null, set: 100, revision: 1 }));
    }
    expect(await end(storage, { id: 'rsv_none' }, RELEASE)).toEqual({ status: 'unknown' });
  });

  test('expire at their instant, by the clock of the ledger, with their event, which says what was charged', async () => {
    const { storage, clock } = setup();
    const account = await openCredits(storage, 100);
    const marks = [{ account, markMs: 0 }];
    const [released, charged] = [
      await held(storage, [credits(account, 10)], { cost: 10 }),
      await held(storage, [credits(account, 20)], { cost: 20, onExpiry: 'charge' }),
    ];
    clock.advance(MINUTE_MS - 1);
    expect(await expire(storage, [released], marks)).toBe(0);
    expect(await storage.reservations.listExpired(clock.nowMs(), null, 10)).toEqual([]);
    clock.advance(1);
    expect(await end(storage, released, settling(1))).toMatchObject({ status: 'not held' });
    expect(await end(storage, charged, RELEASE)).toMatchObject({ status: 'not held' });
    expect(await storage.ledger.spend(spendOf(credits(account, 1)))).toMatchObject({ status: 'settleFirst', account });
    const due = await storage.reservations.listExpired(clock.nowMs(), null, 10);
    expect(due.map(({ id }) => id)).toEqual([released.id, charged.id]);
    expect((await storage.reservations.listExpired(clock.nowMs(), released, 10)).map(({ id }) => id)).toEqual([
      charged.id,
    ]);
    expect(await expire(storage, [released], marks)).toBe(1);
    expect(await expire(storage, [released, charged], marks)).toBe(1);
    expect(await storage.reservations.find(charged.id)).toMatchObject({ state: 'expired', charged: 20 });
    expect([await balanceOf(storage, account), await pocketsOf(storage, account)]).toEqual([80, undefined]);
    expect(await expire(storage, [charged], marks)).toBe(0);
    const events = await storage.events.list({ after: 0, types: null, limit: 10 });
    expect(events.map(({ id, data }) => [id, data])).toEqual([
      [`evt_${released.id}`, '{"charged":0}'],
      [`evt_${charged.id}`, '{"charged":20}'],
    ]);
  });

  test('expire only when their accounts have the marks that the caller has seen', async () => {
    const { storage, clock } = setup();
    const [own, shared] = [await openCredits(storage, 100), await openCredits(storage, 50)];
    const reservation = await held(storage, [credits(own, 40), credits(shared, 40)], { cost: 40, onExpiry: 'charge' });
    clock.advance(MINUTE_MS);
    const mark = (account: number, markMs = 0) => ({ account, markMs });
    for (const marks of [[], [mark(own)], [mark(own), mark(shared, 1)]])
      expect(await expire(storage, [reservation], marks)).toBe(0);
    expect((await storage.reservations.find(reservation.id))?.state).toBe('held');
    expect(await storage.events.list({ after: 0, types: null, limit: 10 })).toEqual([]);
    await storage.ledger.apply(
      change({ account: shared, expect: 1, refill: null, close: true, owner: 'id_1', revision: 1 }),
    );
    expect(await storage.ledger.read([shared])).toEqual([expect.objectContaining({ value: 10 })]);
    await expire(storage, [reservation], [mark(own), mark(shared)]);
    expect([await balanceOf(storage, own), await balanceOf(storage, shared)]).toEqual([60, 10]);
  });

  test('that hold credits of closed accounts charge nothing, and the event says so', async () => {
    const { storage, clock } = setup();
    const account = await openCredits(storage, 100);
    const reservation = await held(storage, [credits(account, 40)], { cost: 40, onExpiry: 'charge' });
    await storage.ledger.apply(change({ account, expect: 1, refill: null, close: true, owner: 'key_1', revision: 1 }));
    clock.advance(MINUTE_MS);
    expect(await expire(storage, [reservation], [])).toBe(1);
    expect(await storage.reservations.find(reservation.id)).toMatchObject({
      state: 'expired',
      charged: 0,
      returned: 0,
    });
    expect((await storage.events.list({ after: 0, types: null, limit: 10 })).map(({ data }) => data)).toEqual([
      '{"charged":0}',
    ]);
  });

  test('that have expired come before every change of their account, and before the end of another', async () => {
    const { storage, clock } = setup();
    const [account, other] = [await openCredits(storage, 100), await openCredits(storage, 100)];
    const charges = [credits(account, 40), credits(other, 40)];
    const first = await held(storage, charges, { cost: 40, onExpiry: 'charge' });
    const second = await held(storage, charges, { cost: 5, ttlMs: 5 * MINUTE_MS });
    clock.advance(MINUTE_MS);
    const both = [account, other];
    const of = (fields: object) =>
      both.map((each) => ({ account: each, expect: 1, refill: null, revision: 1, ...fields }));
    for (const fields of [
      {},
      { set: 7 },
      { add: 1 },
      { sleeps: true },
      { close: true, owner: 'key_1' },
      { grant: { id: 'g', amount: 1, expiresAtMs: null } },
    ]) {
      expect(await storage.ledger.apply(change(...of(fields)))).toMatchObject({
        status: 'settleFirst',
        accounts: both,
      });
    }
    expect(await end(storage, second, RELEASE)).toMatchObject({ status: 'settleFirst' });
    const before = clock.nowMs() - 1;
    expect(await storage.ledger.apply(change(...of({ atMs: before, add: 1 })))).toMatchObject({ status: 'done' });
    await expire(
      storage,
      [first],
      both.map((each) => ({ account: each, markMs: 0 })),
    );
    expect(await end(storage, second, RELEASE)).toMatchObject({ status: 'settleFirst' });
    // Only whoever has seen the newest reservation of the account says when the next one expires.
    const next = { atMs: second.expiresAtMs, newest: second.id };
    expect(await storage.ledger.apply(change(...of({ heldUntil: { ...next, newest: first.id } })))).toMatchObject({
      status: 'stale',
    });
    expect(await storage.ledger.apply(change(...of({ heldUntil: next, dueAtMs: 0 })))).toMatchObject({
      status: 'done',
    });
    expect(await end(storage, second, RELEASE)).toMatchObject({ status: 'done' });
    expect(await balanceOf(storage, account)).toBe(61);
  });

  test('take grants first, and give back to those that have not expired', async () => {
    const { storage, clock } = setup();
    const account = await openCredits(storage, 100);
    const grant = (id: string, amount: number, inMs: number) =>
      storage.ledger.apply(
        change({
          account,
          expect: 1,
          refill: null,
          revision: 1,
          grant: { id, amount, expiresAtMs: clock.nowMs() + inMs },
        }),
      );
    await grant('soon', 10, MINUTE_MS / 2);
    await grant('later', 20, 10 * MINUTE_MS);
    const reservation = await held(storage, [credits(account, 50)], { cost: 50 });
    expect(reservation.parts[0]?.taken).toMatchObject({ grants: [{ left: 10 }, { left: 20 }], own: 20 });
    clock.advance(MINUTE_MS / 2);
    expect(await end(storage, reservation, settling(5))).toEqual({ status: 'settleFirst' });
    await storage.ledger.apply(change({ account, expect: 1, refill: null, dueAtMs: 0, revision: 1 }));
    expect(await end(storage, reservation, settling(5))).toMatchObject({
      reservation: { charged: 5, returned: 40, remaining: 120 },
    });
    expect(await pocketsOf(storage, account)).toMatchObject({ grants: [{ id: 'later', left: 20 }], held: 0 });
  });

  test('under one idempotency key are made once, also at the same time, with and without credits', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 100);
    for (const [name, charges] of [
      ['some', [credits(account, 10)]],
      ['none', []],
    ] as const) {
      const idempotency = { id: `call-${name}`, requestDigest: 'a' };
      const outcomes = await Promise.all(
        Array.from({ length: 5 }, () => reserve(storage, charges, { cost: 10, idempotency })),
      );
      const replays = outcomes.filter(({ spend }) => spend.status === 'taken' && spend.replayed);
      expect([name, replays.length]).toEqual([name, 4]);
      expect(new Set(outcomes.map(({ reservation }) => reservation?.id)).size).toBe(1);
      const other = { ...idempotency, requestDigest: 'b' };
      expect(await reserve(storage, charges, { cost: 10, idempotency: other })).toMatchObject({
        spend: { status: 'conflict' },
      });
      const found = await reserve(storage, [], { cost: 10, idempotency, isOnlyFound: true });
      expect(found.reservation).toEqual(outcomes[0]?.reservation as Reservation);
    }
    const none = { id: 'call-never', requestDigest: 'a' };
    const absent = await reserve(storage, [], { cost: 10, idempotency: none, isOnlyFound: true });
    expect(absent).toMatchObject({ spend: { status: 'refused' }, reservation: null });
    expect(await balanceOf(storage, account)).toBe(90);
  });

  test('a record that has changed comes before an earlier answer', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 100);
    await write(storage, { kind: 'insertKey', key: key('key_1') });
    const fences = [recordFence('key', 'key_1', 1)];
    const asked = wanted(10, { idempotency: { id: 'call-4711', requestDigest: 'a' } });
    const spend = { ...spendOf(credits(account, 10)), fences };
    expect(await storage.ledger.reserve(spend, asked)).toMatchObject({ spend: { status: 'taken' } });
    await write(storage, { kind: 'updateKey', key: key('key_1', { revision: 2 }), expect: 1 });
    const again = await storage.ledger.reserve(spend, asked);
    expect(again).toMatchObject({ spend: { status: 'stale', fence: fences[0] }, reservation: null });
  });

  test('what was answered survives a crash: held, settled and released', async () => {
    const { storage } = setup();
    const account = await openCredits(storage, 100);
    const [open, settled, released] = [
      await held(storage, [credits(account, 10)], { cost: 10 }),
      await held(storage, [credits(account, 10)], { cost: 10 }),
      await held(storage, [credits(account, 10)], { cost: 10 }),
    ];
    await end(storage, settled, settling(4));
    await end(storage, released, RELEASE);
    const copy = await setup().afterCrash();
    expect([await balanceOf(copy, account), (await pocketsOf(copy, account))?.held]).toEqual([86, 10]);
    const states = await Promise.all([open, settled, released].map(({ id }) => copy.reservations.find(id)));
    expect(states.map((each) => each?.state)).toEqual(['held', 'settled', 'released']);
    expect(await end(copy, open, settling(3))).toMatchObject({ reservation: { charged: 3, remaining: 93 } });
    expect(await end(copy, settled, settling(4))).toMatchObject({ status: 'not held' });
  });

  test('are listed by key and state in pages, and forgotten when they have ended long ago', async () => {
    const { storage, clock } = setup();
    const account = await openCredits(storage, 100);
    const made3 = [];
    for (let i = 0; i < 3; i++) made3.push(await held(storage, [credits(account, 1)], { cost: 1, identityId: 'id_1' }));
    const [first, second, third] = made3 as [Reservation, Reservation, Reservation];
    await end(storage, first, RELEASE);
    const list = async (fields: object): Promise<string[]> => {
      const query = { keyId: 'key_1', state: null, after: null, limit: 10, nowMs: clock.nowMs(), ...fields };
      return (await storage.reservations.list(query)).map(({ id }) => id);
    };
    expect(await list({})).toEqual([first.id, second.id, third.id]);
    expect(await list({ after: first.id, limit: 1 })).toEqual([second.id]);
    expect(await list({ state: 'held' })).toEqual([second.id, third.id]);
    const heldBy = async (owner: string) => (await storage.reservations.listHeld(owner, 10)).map(({ id }) => id);
    expect([await heldBy('id_1'), await heldBy('key_1'), await heldBy('key_2')]).toEqual([
      [second.id, third.id],
      [second.id, third.id],
      [],
    ]);
    clock.advance(MINUTE_MS);
    expect([await list({ state: 'held' }), await list({ state: 'expired' })]).toEqual([[], [second.id, third.id]]);
    expect(await storage.reservations.prune(clock.nowMs(), 0)).toBe(true);
    expect(await list({})).toEqual([second.id, third.id]);
  });
});
