import { expect, test, afterAll, beforeAll, describe } from 'bun:test';

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
import { type Storage, type Ledger, StorageUnavailable } from '../../../../src/storage/port/storage.ts';
import { describePort, Setup, ADAPTERS } from '../adapters.ts';
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
  api,
  newReservation as wanted,
} from '../samples.ts';
import type { Engine } from '../../../../src/engine/engine.ts';
import type { RefillInput } from '../../../../src/core/counterPatch.ts';
import { engineOn } from '../engineOn.ts';
import { ACTOR, verify, makeKey } from '../events/toldEvents.ts';

const MINUTE_MS = 60_000;
const RELEASE: UserEnding = { kind: 'release' };
const settling = (cost: number, allowOverage = false): UserEnding => ({ kind: 'settle', cost, allowOverage });

let made = 0;

function wantedReservation(cost: number, fields: Partial<NewReservation> = {}): NewReservation {
  return newReservation(`rsv_${String(++made).padStart(6, '0')}`, { cost, ...fields });
}

function reserve(
  { ledger }: Storage,
  charges: readonly Charge[],
  fields: Partial<NewReservation> & { readonly cost: number },
): Promise<ReserveOutcome> {
  return ledger.reserve(spendOf(...charges), wantedReservation(fields.cost, fields));
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
    const asked = wantedReservation(10, { idempotency: { id: 'call-4711', requestDigest: 'a' } });
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

const HOUR_MS = 3_600_000;
const every = (interval: 'daily' | 'hourly'): RefillInput => ({
  interval,
  amount: 10,
  mode: 'restore',
  max: null,
  refillDay: null,
  refillWeekday: null,
  timezone: null,
});

async function reserveByVerifying(
  engine: Engine,
  secret: string,
  terms: { ttlMs: number; cost: number },
): Promise<string> {
  const reservation = engine.reservations.terms(terms.ttlMs, 'charge');
  const { code } = await verify(engine, secret, { creditCost: terms.cost, reservation });
  expect(code).toBe('VALID');
  return reservation.id;
}

async function makeKeyIn(
  engine: Engine,
  fields: object = {},
): Promise<{ keyId: string; secret: string; apiId: string }> {
  const { id: apiId } = await engine.apis.create(ACTOR, crypto.randomUUID());
  return { ...(await engine.keys.create(ACTOR, { apiId, prefix: null, byteLength: null, ...fields })), apiId };
}

describePort('a reservation that has expired', (setup) => {
  test.each([
    ['a deleted key, whose api is deleted then', true],
    ['a key whose api is deleted', false],
  ])('of %s ends: the customer goes on', async (_, isDeletedFirst) => {
    const { storage, clock } = setup();
    const engine = engineOn(storage);
    const identityId = await engine.identities.create(ACTOR, 'customer', { remaining: 20 });
    const owned = await makeKeyIn(engine, { externalId: 'customer', remaining: 10 });
    const other = await makeKeyIn(engine, { externalId: 'customer' });
    await reserveByVerifying(engine, owned.secret, { ttlMs: 1000, cost: 4 });
    if (isDeletedFirst) await engine.deleteKey.delete(ACTOR, owned.keyId, false);
    else clock.advance(2000);
    await engine.apis.delete(ACTOR, owned.apiId);
    clock.advance(2000);
    expect(await verify(engine, other.secret, { creditCost: 1 })).toMatchObject({ code: 'VALID', remaining: 15 });
    expect(await engine.identities.get(ACTOR, { id: identityId })).toMatchObject({ remaining: 15 });
    await engine.dueCredits.endExpired();
    expect(await storage.reservations.listExpired(storage.ledger.nowMs(), null, 10)).toEqual([]);
    expect(await storage.records.findAnyKey(owned.keyId)).toBeNull();
  });

  test('of a key whose row cannot be read ends, too', async () => {
    const { storage, clock } = setup();
    const engine = engineOn(storage);
    await engine.identities.create(ACTOR, 'customer', { remaining: 20 });
    const owned = await makeKeyIn(engine, { externalId: 'customer', remaining: 10 });
    const other = await makeKeyIn(engine, { externalId: 'customer' });
    await reserveByVerifying(engine, owned.secret, { ttlMs: 1000, cost: 4 });
    const found = await storage.records.findAnyKey(owned.keyId);
    if (found === null || 'poisoned' in found) throw new Error('there is no key');
    const { revision } = found.key;
    await write(storage, {
      kind: 'updateKey',
      key: { ...found.key, meta: '[]', revision: revision + 1 },
      expect: revision,
    });
    expect(await storage.records.findAnyKey(owned.keyId)).toMatchObject({ poisoned: owned.keyId });
    clock.advance(2000);
    expect(await verify(engine, other.secret, { creditCost: 1 })).toMatchObject({ code: 'VALID', remaining: 15 });
    await engine.dueCredits.endExpired();
    expect(await storage.reservations.listExpired(storage.ledger.nowMs(), null, 10)).toEqual([]);
  });
});

describePort('the end of a reservation', (setup) => {
  test('comes after the refill of a rule that its plan has got meanwhile', async () => {
    const { storage, clock } = setup();
    const engine = engineOn(storage);
    const planId = await engine.plans.create(ACTOR, 'starter', { remaining: 10, refill: every('daily') });
    const owned = await makeKeyIn(engine);
    await engine.assignPlan.assign(ACTOR, { holder: { keyId: owned.keyId }, planId, when: 'now', balance: 'reset' });
    const id = await reserveByVerifying(engine, owned.secret, { ttlMs: 10 * HOUR_MS, cost: 4 });
    await engine.plans.update(ACTOR, planId, { refill: every('hourly') });
    clock.advance(HOUR_MS);
    // What is held counts as not spent, so the refill brings nothing.
    expect(await engine.reservations.settle(ACTOR, id, 4, false)).toMatchObject({ remaining: 6 });
    expect(await engine.keys.get(ACTOR, owned.keyId)).toMatchObject({ remaining: 6 });
  });

  test('is not taken together with one behind a refill that another rule of the plan brings', async () => {
    const { storage, clock } = setup();
    const engine = engineOn(storage);
    const planId = await engine.plans.create(ACTOR, 'starter', { remaining: 10, refill: every('daily') });
    const owned = await makeKeyIn(engine);
    await engine.assignPlan.assign(ACTOR, { holder: { keyId: owned.keyId }, planId, when: 'now', balance: 'reset' });
    await reserveByVerifying(engine, owned.secret, { ttlMs: 1000, cost: 4 });
    await reserveByVerifying(engine, owned.secret, { ttlMs: 2.5 * HOUR_MS, cost: 4 });
    clock.advance(2000);
    await engine.plans.update(ACTOR, planId, { refill: every('hourly') });
    clock.advance(2.75 * HOUR_MS - 2000);
    await engine.dueCredits.endExpired();
    expect(await engine.keys.get(ACTOR, owned.keyId)).toMatchObject({ remaining: 6 });
  });

  test('is not taken together with one behind a midnight', async () => {
    const { storage, clock } = setup();
    const engine = engineOn(storage);
    const owned = await makeKeyIn(engine, { remaining: 10, refill: every('daily') });
    await reserveByVerifying(engine, owned.secret, { ttlMs: 11 * HOUR_MS, cost: 4 });
    await reserveByVerifying(engine, owned.secret, { ttlMs: 13 * HOUR_MS, cost: 4 });
    clock.advance(14 * HOUR_MS);
    await engine.dueCredits.endExpired();
    expect(await engine.keys.get(ACTOR, owned.keyId)).toMatchObject({ remaining: 6 });
  });

  test('comes after a move to another plan at the same instant', async () => {
    const { storage, clock } = setup();
    const engine = engineOn(storage);
    const refill = every('daily');
    const [from, to] = [
      await engine.plans.create(ACTOR, 'from', { remaining: 10, refill }),
      await engine.plans.create(ACTOR, 'to', { remaining: 10, refill }),
    ];
    const owned = await makeKeyIn(engine);
    const assign = (planId: string, when: 'now' | 'nextRefill') =>
      engine.assignPlan.assign(ACTOR, { holder: { keyId: owned.keyId }, planId, when, balance: 'keep' });
    await assign(from, 'now');
    await reserveByVerifying(engine, owned.secret, { ttlMs: 12 * HOUR_MS, cost: 4 });
    await assign(to, 'nextRefill');
    clock.advance(13 * HOUR_MS);
    await engine.dueCredits.endExpired();
    expect(await engine.keys.get(ACTOR, owned.keyId)).toMatchObject({ remaining: 6 });
  });

  test('gives back to a lasting grant what it has taken from it: no refill takes it', async () => {
    const { storage, clock } = setup();
    const engine = engineOn(storage);
    const owned = await makeKeyIn(engine, { remaining: 0, refill: every('daily') });
    await engine.credits.grant(
      ACTOR,
      { keyId: owned.keyId },
      { amount: 5, expiresAtMs: null, reason: 'bought', idempotencyId: 'payment' },
    );
    const id = await reserveByVerifying(engine, owned.secret, { ttlMs: HOUR_MS, cost: 3 });
    expect(await engine.reservations.release(ACTOR, id)).toMatchObject({ returned: 3, remaining: 5 });
    clock.advance(12 * HOUR_MS);
    expect(await engine.keys.get(ACTOR, owned.keyId)).toMatchObject({ remaining: 15 });
  });
});

describePort('a deleted key with a grant that does not expire', (setup) => {
  test('is looked at by no sweep, and is refilled when it is restored', async () => {
    const { storage, clock } = setup();
    const engine = engineOn(storage);
    const owned = await makeKeyIn(engine, { remaining: 3, refill: every('hourly') });
    const grant = { amount: 5, expiresAtMs: null, reason: 'bought', idempotencyId: 'payment' };
    await engine.credits.grant(ACTOR, { keyId: owned.keyId }, grant);
    await engine.deleteKey.delete(ACTOR, owned.keyId, false);
    clock.advance(3 * HOUR_MS);
    expect(await engine.dueCredits.sweep()).toBe(0);
    await engine.deleteKey.restore(ACTOR, owned.keyId);
    expect(await engine.keys.get(ACTOR, owned.keyId)).toMatchObject({ remaining: 15 });
  });
});

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

/** An engine whose ledger answers one of its calls always in the same way, and a key with 4 of its 10 credits reserved. */
async function engineWith({ storage }: Setup, answers: Partial<Record<keyof Ledger, unknown>>) {
  const maker = engineOn(storage);
  const { keyId, secret } = await makeKey(maker, { remaining: 10 });
  const reservation = maker.reservations.terms(1_000, 'release');
  await verify(maker, secret, { creditCost: 4, reservation });
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

describe('the event of a reservation', () => {
  let setup: Setup;

  beforeAll(async () => {
    const postgres = ADAPTERS.find(({ name }) => name === 'postgres');
    if (postgres === undefined) throw new Error('there is no adapter for PostgreSQL');
    setup = await Setup.make(postgres);
  });

  afterAll(() => setup.close());

  test('postgres: a reservation does not end without its event: both are one commit', async () => {
    const { storage, clock } = setup;
    const account = await openCredits(storage, 100);
    const { reservation } = await storage.ledger.reserve(
      spendOf(credits(account, 40)),
      wanted('rsv_1', { cost: 40, ttlMs: 1_000, onExpiry: 'charge' }),
    );
    if (reservation === null) throw new Error('nothing was reserved');
    clock.advance(1_000);
    const ending = (id: string) => ({
      reservation,
      marks: [{ account, markMs: 0 }],
      event: { id, type: 'reservation.expired', data: '{}' } as const,
    });
    // The database takes no text with this character.
    expect(storage.ledger.expireReservations([ending('evt_\0')])).rejects.toBeInstanceOf(StorageUnavailable);
    await storage.ledger.expireReservations([ending('evt_\0')]).catch(() => []);
    expect((await storage.reservations.find('rsv_1'))?.state).toBe('held');
    expect((await storage.ledger.read([account]))[0]?.pockets).toMatchObject({ held: 40 });
    expect(await storage.ledger.expireReservations([ending('evt_1')])).toMatchObject([{ charged: 40 }]);
    expect((await storage.events.list({ after: 0, types: null, limit: 10 })).map(({ id }) => id)).toEqual(['evt_1']);
    expect(await balanceOf(storage, account)).toBe(60);
  });
});
