import { expect, test } from 'bun:test';

import type { Engine } from '../../../../src/engine/engine.ts';
import type { RefillInput } from '../../../../src/core/counterPatch.ts';
import { describePort } from '../adapters.ts';
import { engineOn } from '../engineOn.ts';
import { ACTOR, verify } from '../events/toldEvents.ts';
import { write } from '../samples.ts';

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

async function reserve(engine: Engine, secret: string, terms: { ttlMs: number; cost: number }): Promise<string> {
  const reservation = engine.reservations.terms(terms.ttlMs, 'charge');
  const { code } = await verify(engine, secret, { creditCost: terms.cost, reservation });
  expect(code).toBe('VALID');
  return reservation.id;
}

async function makeKey(engine: Engine, fields: object = {}): Promise<{ keyId: string; secret: string; apiId: string }> {
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
    const key = await makeKey(engine, { externalId: 'customer', remaining: 10 });
    const other = await makeKey(engine, { externalId: 'customer' });
    await reserve(engine, key.secret, { ttlMs: 1000, cost: 4 });
    if (isDeletedFirst) await engine.deleteKey.delete(ACTOR, key.keyId, false);
    else clock.advance(2000);
    await engine.apis.delete(ACTOR, key.apiId);
    clock.advance(2000);
    expect(await verify(engine, other.secret, { creditCost: 1 })).toMatchObject({ code: 'VALID', remaining: 15 });
    expect(await engine.identities.get(ACTOR, { id: identityId })).toMatchObject({ remaining: 15 });
    await engine.dueCredits.endExpired();
    expect(await storage.reservations.listExpired(storage.ledger.nowMs(), null, 10)).toEqual([]);
    expect(await storage.records.findAnyKey(key.keyId)).toBeNull();
  });

  test('of a key whose row cannot be read ends, too', async () => {
    const { storage, clock } = setup();
    const engine = engineOn(storage);
    await engine.identities.create(ACTOR, 'customer', { remaining: 20 });
    const key = await makeKey(engine, { externalId: 'customer', remaining: 10 });
    const other = await makeKey(engine, { externalId: 'customer' });
    await reserve(engine, key.secret, { ttlMs: 1000, cost: 4 });
    const found = await storage.records.findAnyKey(key.keyId);
    if (found === null || 'poisoned' in found) throw new Error('there is no key');
    const { revision } = found.key;
    await write(storage, {
      kind: 'updateKey',
      key: { ...found.key, meta: '[]', revision: revision + 1 },
      expect: revision,
    });
    expect(await storage.records.findAnyKey(key.keyId)).toMatchObject({ poisoned: key.keyId });
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
    const key = await makeKey(engine);
    await engine.assignPlan.assign(ACTOR, { holder: { keyId: key.keyId }, planId, when: 'now', balance: 'reset' });
    const id = await reserve(engine, key.secret, { ttlMs: 10 * HOUR_MS, cost: 4 });
    await engine.plans.update(ACTOR, planId, { refill: every('hourly') });
    clock.advance(HOUR_MS);
    // What is held counts as not spent, so the refill brings nothing.
    expect(await engine.reservations.settle(ACTOR, id, 4, false)).toMatchObject({ remaining: 6 });
    expect(await engine.keys.get(ACTOR, key.keyId)).toMatchObject({ remaining: 6 });
  });

  test('is not taken together with one behind a refill that another rule of the plan brings', async () => {
    const { storage, clock } = setup();
    const engine = engineOn(storage);
    const planId = await engine.plans.create(ACTOR, 'starter', { remaining: 10, refill: every('daily') });
    const key = await makeKey(engine);
    await engine.assignPlan.assign(ACTOR, { holder: { keyId: key.keyId }, planId, when: 'now', balance: 'reset' });
    await reserve(engine, key.secret, { ttlMs: 1000, cost: 4 });
    await reserve(engine, key.secret, { ttlMs: 2.5 * HOUR_MS, cost: 4 });
    clock.advance(2000);
    await engine.plans.update(ACTOR, planId, { refill: every('hourly') });
    clock.advance(2.75 * HOUR_MS - 2000);
    await engine.dueCredits.endExpired();
    expect(await engine.keys.get(ACTOR, key.keyId)).toMatchObject({ remaining: 6 });
  });

  test('is not taken together with one behind a midnight', async () => {
    const { storage, clock } = setup();
    const engine = engineOn(storage);
    const key = await makeKey(engine, { remaining: 10, refill: every('daily') });
    await reserve(engine, key.secret, { ttlMs: 11 * HOUR_MS, cost: 4 });
    await reserve(engine, key.secret, { ttlMs: 13 * HOUR_MS, cost: 4 });
    clock.advance(14 * HOUR_MS);
    await engine.dueCredits.endExpired();
    expect(await engine.keys.get(ACTOR, key.keyId)).toMatchObject({ remaining: 6 });
  });

  test('comes after a move to another plan at the same instant', async () => {
    const { storage, clock } = setup();
    const engine = engineOn(storage);
    const refill = every('daily');
    const [from, to] = [
      await engine.plans.create(ACTOR, 'from', { remaining: 10, refill }),
      await engine.plans.create(ACTOR, 'to', { remaining: 10, refill }),
    ];
    const key = await makeKey(engine);
    const assign = (planId: string, when: 'now' | 'nextRefill') =>
      engine.assignPlan.assign(ACTOR, { holder: { keyId: key.keyId }, planId, when, balance: 'keep' });
    await assign(from, 'now');
    await reserve(engine, key.secret, { ttlMs: 12 * HOUR_MS, cost: 4 });
    await assign(to, 'nextRefill');
    clock.advance(13 * HOUR_MS);
    await engine.dueCredits.endExpired();
    expect(await engine.keys.get(ACTOR, key.keyId)).toMatchObject({ remaining: 6 });
  });

  test('gives back to a lasting grant what it has taken from it: no refill takes it', async () => {
    const { storage, clock } = setup();
    const engine = engineOn(storage);
    const key = await makeKey(engine, { remaining: 0, refill: every('daily') });
    await engine.credits.grant(
      ACTOR,
      { keyId: key.keyId },
      { amount: 5, expiresAtMs: null, reason: 'bought', idempotencyId: 'payment' },
    );
    const id = await reserve(engine, key.secret, { ttlMs: HOUR_MS, cost: 3 });
    expect(await engine.reservations.release(ACTOR, id)).toMatchObject({ returned: 3, remaining: 5 });
    clock.advance(12 * HOUR_MS);
    expect(await engine.keys.get(ACTOR, key.keyId)).toMatchObject({ remaining: 15 });
  });
});

describePort('a deleted key with a grant that does not expire', (setup) => {
  test('is looked at by no sweep, and is refilled when it is restored', async () => {
    const { storage, clock } = setup();
    const engine = engineOn(storage);
    const key = await makeKey(engine, { remaining: 3, refill: every('hourly') });
    const grant = { amount: 5, expiresAtMs: null, reason: 'bought', idempotencyId: 'payment' };
    await engine.credits.grant(ACTOR, { keyId: key.keyId }, grant);
    await engine.deleteKey.delete(ACTOR, key.keyId, false);
    clock.advance(3 * HOUR_MS);
    expect(await engine.dueCredits.sweep()).toBe(0);
    await engine.deleteKey.restore(ACTOR, key.keyId);
    expect(await engine.keys.get(ACTOR, key.keyId)).toMatchObject({ remaining: 15 });
  });
});
