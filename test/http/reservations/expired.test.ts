import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';

describe('a reservation that has expired', () => {
  let service: TestService;
  let plans = 0;

  beforeAll(async () => {
    service = await TestService.start();
  });

  afterAll(() => service.close());

  beforeEach(() => service.clock.set('2026-03-15T22:59:00Z'));

  const DAY_MS = 86_400_000;
  const DAILY = { remaining: 10, refill: { interval: 'daily', amount: 10 } };

  interface Held {
    readonly key: string;
    readonly keyId: string;
    readonly reservationId: string;
  }

  /** A key, with 4 of its credits reserved. */
  async function held(fields: Record<string, unknown>, terms: object): Promise<Held> {
    const { key, keyId } = await service.createKey(fields);
    const { reservationId } = await service.ok('/v1/reservations.create', { key, cost: 4, ...terms });
    return { key, keyId, reservationId };
  }

  async function shown(keyId: string): Promise<number> {
    return (await service.ok('/v1/keys.getKey', { keyId })).remaining;
  }

  async function swept(): Promise<void> {
    await service.engine.dueCredits.endExpired();
    await service.engine.dueCredits.sweep();
  }

  async function planOf(fields: object): Promise<string> {
    return (await service.ok('/v1/plans.createPlan', { name: `plan ${++plans}`, ...fields })).planId;
  }

  type Call = (held: Held) => Promise<unknown>;

  const adjust =
    (by: number): Call =>
    ({ keyId }) =>
      service.ok('/v1/credits.adjust', { keyId, by, reason: 'a correction' });
  const remaining =
    (op: string, value: number): Call =>
    ({ keyId }) =>
      service.ok('/v1/keys.updateRemaining', { keyId, op, value });
  const update =
    (fields: object): Call =>
    ({ keyId }) =>
      service.ok('/v1/keys.updateKey', { keyId, ...fields });
  const grant: Call = ({ keyId }) =>
    service.ok('/v1/credits.grant', { keyId, amount: 1, reason: 'a payment', idempotencyKey: `pay-${keyId}` });
  const assign =
    (fields: object, balance: string): Call =>
    async ({ keyId }) =>
      service.ok('/v1/plans.assign', { keyId, planId: await planOf(fields), balance });
  const deleteAndRestore: Call = async ({ keyId }) => {
    await service.ok('/v1/keys.deleteKey', { keyId });
    await service.ok('/v1/keys.restoreKey', { keyId });
  };
  const rotate: Call = ({ keyId }) => service.ok('/v1/keys.rotateKey', { keyId, overlapMs: 0 });

  describe('a reservation that has expired ends before the first call that changes its credits', () => {
    test.each<[string, Call, number]>([
      ['keys.updateRemaining set', remaining('set', 10), 10],
      ['keys.updateRemaining decrement', remaining('decrement', 10), 0],
      ['keys.updateKey remaining', update({ remaining: 10 }), 10],
      ['credits.adjust', adjust(-10), 0],
      ['credits.grant', grant, 11],
      ['plans.assign reset', assign({ remaining: 7 }, 'reset'), 7],
      ['keys.updateKey name', update({ name: 'other' }), 10],
      ['keys.deleteKey and keys.restoreKey', deleteAndRestore, 10],
      ['keys.rotateKey', rotate, 10],
    ])('%s: the balance after it is the balance after the sweep', async (_, call, expected) => {
      const made = await held({ remaining: 10 }, { ttlMs: 1_000 });
      service.clock.advance(1_200);
      await call(made);
      expect(await shown(made.keyId)).toBe(expected);
      service.clock.advance(5_800);
      await swept();
      expect(await shown(made.keyId)).toBe(expected);
      const { charged, returned } = await service.ok('/v1/reservations.get', { reservationId: made.reservationId });
      expect([charged, returned]).toEqual([0, 4]);
    });
  });

  describe('a charge before midnight comes out of the balance of that day', () => {
    test.each<[string, Call, number]>([
      ['credits.adjust', adjust(-1), 9],
      ['credits.grant', grant, 11],
      ['keys.updateKey name', update({ name: 'other' }), 10],
      ['keys.updateKey refill', update({ refill: { interval: 'daily', amount: 50 } }), 10],
      ['plans.assign', assign({ remaining: 99 }, 'keep'), 10],
      ['keys.deleteKey and keys.restoreKey', deleteAndRestore, 10],
    ])('also when %s is the first call of the new day', async (_, call, expected) => {
      const made = await held(DAILY, { ttlMs: 60_000, onExpiry: 'charge' });
      service.clock.set('2026-03-16T00:30:00Z');
      await call(made);
      expect(await shown(made.keyId)).toBe(expected);
      await swept();
      expect(await shown(made.keyId)).toBe(expected);
    });

    test('also when the holder moves to another plan at that midnight', async () => {
      const [from, to] = [
        await planOf(DAILY),
        await planOf({ remaining: 10, refill: { interval: 'daily', amount: 10 } }),
      ];
      const { key, keyId } = await service.createKey({});
      await service.ok('/v1/plans.assign', { keyId, planId: from });
      await service.ok('/v1/reservations.create', { key, cost: 4, ttlMs: 60_000, onExpiry: 'charge' });
      await service.ok('/v1/plans.assign', { keyId, planId: to, when: 'nextRefill' });
      service.clock.set('2026-03-16T00:30:00Z');
      expect((await service.verify(key, { remaining: { cost: 0 } })).remaining).toBe(10);
      expect(await service.ok('/v1/keys.getKey', { keyId })).toMatchObject({ remaining: 10, plan: { id: to } });
    });

    test('and one between two midnights out of the balance of the day between', async () => {
      const { keyId } = await held(DAILY, { ttlMs: 13 * 3_600_000, onExpiry: 'charge' });
      service.clock.set('2026-03-17T00:30:00Z');
      expect(await shown(keyId)).toBe(10);
      const { rows } = await service.ok('/v1/usage.getStatement', { keyId, per: 'day' });
      expect(rows.map((row: Record<string, number>) => [row['refilled'], row['spent'], row['closing']])).toEqual([
        [0, 0, 10],
        [0, 4, 6],
        [4, 0, 10],
      ]);
    });

    test('a reservation that expires at midnight is charged to the new day', async () => {
      const { keyId } = await held(DAILY, { ttlMs: 61 * 60_000, onExpiry: 'charge' });
      service.clock.set('2026-03-16T00:00:00Z');
      expect(await shown(keyId)).toBe(6);
    });

    test('credits of a key and of its identity end together, each in the order of its own refills', async () => {
      const externalId = `customer ${++plans}`;
      await service.ok('/v1/identities.createIdentity', {
        externalId,
        remaining: 20,
        refill: { interval: 'hourly', amount: 20 },
      });
      const made = await held({ ...DAILY, externalId }, { ttlMs: 90 * 60_000, onExpiry: 'charge' });
      service.clock.set('2026-03-16T00:45:00Z');
      // The identity was refilled at 23:00 and 00:00, the key at 00:00; the charge came at 00:29.
      expect(await shown(made.keyId)).toBe(6);
      expect((await service.ok('/v1/identities.getIdentity', { externalId })).remaining).toBe(16);
      service.clock.set('2026-03-16T01:00:00Z');
      expect((await service.ok('/v1/identities.getIdentity', { externalId })).remaining).toBe(20);
    });

    test('a refill comes before a settlement, also where the credits are those of an identity', async () => {
      const externalId = `customer ${++plans}`;
      await service.ok('/v1/identities.createIdentity', { externalId, ...DAILY });
      const { reservationId } = await held({ externalId }, { ttlMs: 2 * 3_600_000 });
      service.clock.set('2026-03-16T00:10:00Z');
      const settled = await service.ok('/v1/reservations.settle', { reservationId, cost: 2 });
      expect(settled).toMatchObject({ charged: 2, returned: 2, remaining: 8 });
      await swept();
      expect((await service.ok('/v1/identities.getIdentity', { externalId })).remaining).toBe(8);
    });

    test('a refill comes before a settlement, also of a deleted key', async () => {
      const made = await held(DAILY, { ttlMs: 2 * 3_600_000 });
      await service.ok('/v1/keys.deleteKey', { keyId: made.keyId });
      service.clock.set('2026-03-16T00:10:00Z');
      expect(await service.ok('/v1/reservations.settle', { reservationId: made.reservationId, cost: 2 })).toMatchObject(
        {
          charged: 2,
          returned: 2,
          remaining: 8,
        },
      );
      await service.ok('/v1/keys.restoreKey', { keyId: made.keyId });
      expect(await shown(made.keyId)).toBe(8);
    });
  });

  describe('what a charge has taken is not forgotten', () => {
    const spentBy = async (keyId: string): Promise<number> => {
      const { rows } = await service.ok('/v1/usage.getStatement', { keyId, per: 'day' });
      return rows.reduce((sum: number, { spent }: { spent: number }) => sum + spent, 0);
    };

    test.each<[string, Call]>([
      ['the counter ends', update({ remaining: null })],
      ['the key is deleted for good', ({ keyId }) => service.ok('/v1/keys.deleteKey', { keyId, permanent: true })],
    ])('when %s', async (_, call) => {
      const made = await held({ remaining: 10 }, { ttlMs: 1_000, onExpiry: 'charge' });
      service.clock.advance(1_000);
      await call(made);
      expect(await spentBy(made.keyId)).toBe(4);
      expect(await service.ok('/v1/reservations.get', { reservationId: made.reservationId })).toMatchObject({
        charged: 4,
      });
      expect(await eventOf(made)).toMatchObject({ charged: 4 });
    });

    test('but a reservation of credits that were gone before it expired charges nothing, and says so everywhere', async () => {
      const made = await held({ remaining: 10 }, { ttlMs: 1_000, onExpiry: 'charge' });
      await service.ok('/v1/keys.updateKey', { keyId: made.keyId, remaining: null });
      service.clock.advance(1_000);
      const { reservationId, keyId } = made;
      const nothing = { state: 'expired', charged: 0, returned: 0 };
      expect(await service.ok('/v1/reservations.get', { reservationId })).toMatchObject(nothing);
      expect((await service.ok('/v1/reservations.list', { keyId })).reservations).toMatchObject([nothing]);
      await swept();
      expect(await service.ok('/v1/reservations.get', { reservationId })).toMatchObject(nothing);
      expect(await eventOf(made)).toMatchObject({ charged: 0 });
      expect(await spentBy(keyId)).toBe(0);
    });

    async function eventOf({ reservationId }: Held): Promise<Record<string, unknown> | undefined> {
      const { events } = await service.ok('/v1/events.listEvents', { types: ['reservation.expired'], limit: 100 });
      const found = (events as { data: Record<string, unknown> }[]).filter(
        ({ data }) => data['reservationId'] === reservationId,
      );
      expect(found.length).toBe(1);
      return found[0]?.data;
    }

    test('a statement has no expired reservation as held, and the charge on the day on which it expired', async () => {
      const { keyId } = await held({ remaining: 10 }, { ttlMs: 60_000, onExpiry: 'charge' });
      service.clock.advance(2 * DAY_MS);
      const { rows } = await service.ok('/v1/usage.getStatement', { keyId, per: 'day' });
      expect(rows).toMatchObject([{ start: Date.parse('2026-03-15'), spent: 4, closing: 6, held: 0 }]);
    });
  });

  test('what a reservation holds is not in a balance that is set: it comes back on top', async () => {
    const { keyId, reservationId } = await held({ remaining: 10 }, { ttlMs: 60_000 });
    await service.ok('/v1/keys.updateRemaining', { keyId, op: 'set', value: 3 });
    await service.ok('/v1/reservations.release', { reservationId });
    expect(await shown(keyId)).toBe(7);
  });
});

describe('a refill and a reservation', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await TestService.start();
  });

  afterAll(() => service.stop());

  beforeEach(() => service.clock.set('2026-03-15T23:59:00Z'));

  const MINUTE_MS = 60_000;
  const DAILY = { remaining: 100, refill: { interval: 'daily', amount: 100 } };

  async function reserve(fields: object, body: object): Promise<{ key: string; keyId: string; reservationId: string }> {
    const { key, keyId } = await service.createKey({ ...fields });
    const { reservationId } = await service.ok('/v1/reservations.create', { key, cost: 40, ...body });
    return { key, keyId, reservationId };
  }

  async function remaining(key: string): Promise<number> {
    return (await service.verify(key, { remaining: { cost: 0 } })).remaining;
  }

  describe('a refill and a reservation that expires are due at the same time', () => {
    test.each([
      ['nobody has used the key in between', false],
      ['somebody has', true],
    ])('a charge after the boundary comes after the refill, also when %s', async (_, isUsed) => {
      const { key } = await reserve(DAILY, { ttlMs: 10 * MINUTE_MS, onExpiry: 'charge' });
      service.clock.set('2026-03-16T00:01:00Z');
      if (isUsed) await remaining(key);
      service.clock.set('2026-03-16T00:11:00Z');
      expect(await remaining(key)).toBe(60);
    });

    test('a charge before the boundary is refilled', async () => {
      const { key } = await reserve(DAILY, { ttlMs: 1_000, onExpiry: 'charge' });
      service.clock.set('2026-03-16T00:11:00Z');
      expect(await remaining(key)).toBe(100);
    });

    test('the sweep of reservations keeps the same order', async () => {
      const { key } = await reserve(DAILY, { ttlMs: 10 * MINUTE_MS, onExpiry: 'charge' });
      service.clock.set('2026-03-16T00:11:00Z');
      await service.engine.dueCredits.endExpired();
      expect(await remaining(key)).toBe(60);
    });
  });

  describe('what a reservation does elsewhere', () => {
    test('one that holds nothing tells nobody when it expires, and is forgotten sooner', async () => {
      const { reservationId } = await reserve({}, { ttlMs: 1_000, onExpiry: 'charge' });
      service.clock.advance(1_000);
      await service.engine.dueCredits.endExpired();
      const { events } = await service.ok('/v1/events.listEvents', { types: ['reservation.expired'] });
      expect(
        events.filter(({ data }: { data: { reservationId: string } }) => data.reservationId === reservationId),
      ).toEqual([]);
      expect(await service.ok('/v1/reservations.get', { reservationId })).toMatchObject({ charged: 0 });
      await service.storage.reservations.prune(0, service.clock.nowMs() + 1);
      expect((await service.call('/v1/reservations.get', { reservationId })).status).toBe(404);
    });

    test('one of a metered key whose counter ends counts as used: nothing that happened is left out of the bill', async () => {
      const { keyId } = await reserve({ metered: true }, { ttlMs: 10 * MINUTE_MS });
      await service.ok('/v1/keys.updateKey', { keyId, remaining: 5 });
      const { rows } = await service.ok('/v1/usage.getStatement', { keyId, per: 'day' });
      expect(rows.reduce((sum: number, row: { spent: number }) => sum + row.spent, 0)).toBe(40);
    });
  });
});
