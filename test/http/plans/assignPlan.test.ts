import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { HOLDERS, planCalls, type Who } from './planCalls.ts';

const DAY_MS = 86_400_000;

let service: TestService;

beforeAll(async () => {
  service = await TestService.start();
});

afterAll(() => service.stop());

beforeEach(() => service.clock.set('2026-03-15T12:00:00Z'));

describe.each(HOLDERS)('plans.assign, of an %s', (kind) => {
  const { plan, assign, holder, read, change, refused } = planCalls(() => service, kind);

  test('now, with the balance kept or reset; leaving a plan keeps what the holder has itself', async () => {
    const [small, large] = [await plan({ remaining: 10 }), await plan({ remaining: 1_000 })];
    const free = await plan();
    const { who, key } = await holder(small);
    await service.verify(key);
    await assign(who, large);
    expect(await service.verify(key)).toMatchObject({ remaining: 8 });
    await assign(who, large, { balance: 'reset', force: true });
    expect(await service.verify(key)).toMatchObject({ remaining: 999 });
    await assign(who, free);
    expect((await service.verify(key)).remaining).toBeUndefined();
    await assign(who, small);
    expect(await service.verify(key)).toMatchObject({ remaining: 9 });
    await assign(who, null);
    expect((await read(who)).planId).toBeUndefined();
    expect((await service.verify(key)).remaining).toBeUndefined();
    const own = await holder(null, { remaining: 7 });
    await assign(own.who, large);
    expect((await read(own.who)).remaining).toBe(7);
    await assign(own.who, null, { balance: 'reset' });
    expect((await read(own.who)).remaining).toBe(7);
  });

  test.each([
    ['keep', 'a verification', 8 + 1_000],
    ['reset', 'a verification', 1_000],
    ['keep', 'the sweep', 8 + 1_000],
    ['reset', 'the sweep', 1_000],
  ])(
    'at the next refill, balance %s, written down by %s: that refill is one of the new plan',
    async (balance, by, after) => {
      const refill = { interval: 'monthly', mode: 'add' };
      const small = await plan({ remaining: 10, refill: { ...refill, amount: 10 } });
      const large = await plan({ remaining: 1_000, refill: { ...refill, amount: 1_000 } });
      const { who, key } = await holder(small);
      await service.verify(key, { remaining: { cost: 2 } });
      const at = Date.parse('2026-04-01T00:00:00Z');
      expect(await assign(who, large, { when: 'nextRefill', balance })).toMatchObject({
        planId: small,
        planMove: { planId: large, at, balance },
      });
      service.clock.set(at - 1);
      expect(await read(who)).toMatchObject({ planId: small, remaining: 8, planMove: { planId: large, at } });
      expect((await refused('/v1/plans.deletePlan', { planId: large }))[0]).toBe(409);
      service.clock.set(at + 5 * DAY_MS);
      if (by === 'the sweep') await service.engine.dueCredits.sweep();
      else expect(await service.verify(key)).toMatchObject({ valid: true, remaining: after - 1 });
      const spent = by === 'the sweep' ? 0 : 1;
      expect(await read(who)).toMatchObject({ planId: large, remaining: after - spent });
      expect((await read(who)).planMove).toBeUndefined();
      service.clock.set('2026-05-01T00:00:00Z');
      expect(await service.verify(key)).toMatchObject({ remaining: after - spent + 1_000 - 1 });
      await service.ok('/v1/plans.deletePlan', { planId: small });
    },
  );

  test('the same plan again fills no balance; with force it does', async () => {
    const planId = await plan({ remaining: 100 });
    const { who, key } = await holder(planId);
    await service.verify(key, { remaining: { cost: 90 } });
    const changes = async () => (await service.ok('/v1/audit.listEntries', { limit: 100 })).entries.length;
    const before = await changes();
    for (const balance of ['keep', 'upgrade', 'reset']) {
      expect(await assign(who, planId, { balance })).toMatchObject({ planId });
      expect(await read(who)).toMatchObject({ remaining: 10 });
    }
    expect(await changes()).toBe(before);
    await assign(who, planId, { balance: 'reset', force: true });
    expect(await read(who)).toMatchObject({ remaining: 100 });
  });

  test('the same plan again withdraws a move that waits', async () => {
    const refill = { interval: 'monthly', amount: 100 };
    const [present, other] = [await plan({ remaining: 100, refill }), await plan({ remaining: 5 })];
    const { who } = await holder(present);
    await assign(who, other, { when: 'nextRefill' });
    expect((await assign(who, present, { balance: 'reset' })).planMove).toBeUndefined();
    service.clock.set('2026-04-02T00:00:00Z');
    expect(await read(who)).toMatchObject({ planId: present });
  });

  test('a repeated call with the same idempotency key changes nothing, also after other calls', async () => {
    const [small, large] = [await plan({ remaining: 10 }), await plan({ remaining: 1_000 })];
    const { who, key } = await holder(small);
    const paid = { balance: 'reset', idempotencyKey: 'evt_0001' };
    expect((await assign(who, large, paid)).replayed).toBeUndefined();
    await service.verify(key, { remaining: { cost: 900 } });
    expect(await assign(who, large, paid)).toMatchObject({ planId: large, replayed: true });
    expect(await read(who)).toMatchObject({ remaining: 100 });
    await assign(who, small, { idempotencyKey: 'evt_0002' });
    expect(await assign(who, large, paid)).toMatchObject({ planId: small, replayed: true });
    expect((await refused('/v1/plans.assign', { ...who, planId: small, ...paid }))[0]).toBe(409);
    const call = { ...who, amount: 5, reason: 'a gift', idempotencyKey: 'evt_0001' };
    const [status, message] = await refused('/v1/credits.grant', call);
    expect([status, message]).toEqual([
      409,
      expect.stringMatching(/^This idempotency key was used for an assignment /),
    ]);
    const answers = await Promise.all(
      [1, 2, 3, 4].map(() => assign(who, large, { ...paid, idempotencyKey: 'evt_0003' })),
    );
    expect(answers.filter(({ replayed }) => replayed === true).length).toBe(3);
  });

  test('an upgrade replaces what the plan gives and keeps what was paid for, now and at the next refill', async () => {
    const refill = (amount: number) => ({ remaining: amount, refill: { interval: 'monthly', amount } });
    const [free, paid] = [await plan(refill(100)), await plan(refill(1_000))];
    const { who, key } = await holder(free);
    const grant = (amount: number, fields: object = {}) =>
      service.ok('/v1/credits.grant', {
        ...who,
        amount,
        reason: 'paid',
        idempotencyKey: `pay-${amount}-${key}`,
        ...fields,
      });
    const soon = service.clock.nowMs() + DAY_MS;
    await grant(500);
    await grant(30, { expiresAt: soon });
    expect(await read(who)).toMatchObject({ remaining: 630, grants: [{ left: 30, expiresAt: soon }, { left: 500 }] });
    // First what expires, then what the plan gives, then what was paid for.
    await service.verify(key, { remaining: { cost: 60 } });
    expect(await read(who)).toMatchObject({ remaining: 570, grants: [{ left: 500 }] });
    await assign(who, paid, { balance: 'upgrade' });
    expect(await read(who)).toMatchObject({ remaining: 1_500, grants: [{ left: 500 }] });
    await service.verify(key, { remaining: { cost: 1_100 } });
    expect(await read(who)).toMatchObject({ remaining: 400, grants: [{ left: 400 }] });
    service.clock.set('2026-04-01T00:00:00Z');
    expect(await service.verify(key, { remaining: { cost: 0 } })).toMatchObject({ remaining: 1_400 });
    await assign(who, free, { balance: 'upgrade', when: 'nextRefill' });
    service.clock.set('2026-05-01T00:00:00Z');
    expect(await read(who)).toMatchObject({ planId: free, remaining: 500, grants: [{ left: 400 }] });
    await assign(who, paid, { balance: 'reset' });
    expect(await read(who)).toMatchObject({ remaining: 1_000 });
    expect((await read(who)).grants).toBeUndefined();
  });

  test('an upgrade to a plan without credits, or to none, leaves what was paid for, and nothing of the plan', async () => {
    const refill = { remaining: 100, refill: { interval: 'monthly', amount: 100 } };
    for (const when of ['now', 'nextRefill']) {
      service.clock.set('2026-03-15T12:00:00Z');
      const [some, other] = [await plan(refill), await plan()];
      for (const target of [null, other]) {
        service.clock.set('2026-03-15T12:00:00Z');
        const [paid, poor] = [await holder(some), await holder(some)];
        const grant = { ...paid.who, amount: 500, reason: 'paid', idempotencyKey: `${when}-${target}-${paid.key}` };
        await service.ok('/v1/credits.grant', grant);
        for (const { who } of [paid, poor]) await assign(who, target, { balance: 'upgrade', when });
        service.clock.set('2026-04-02T00:00:00Z');
        const seen = await read(paid.who);
        expect([seen.planId ?? null, seen.remaining, seen.grants]).toMatchObject([target, 500, [{ left: 500 }]]);
        expect(await service.verify(paid.key, { remaining: { cost: 501 } })).toMatchObject({ code: 'USAGE_EXCEEDED' });
        expect((await read(poor.who)).remaining ?? null).toBeNull();
      }
    }
  });

  test('a repeated call is answered as before, also when its plan was deleted meanwhile', async () => {
    const [first, second] = [await plan({ remaining: 10 }), await plan({ remaining: 20 })];
    const { who, key } = await holder(first);
    const call = { ...who, planId: second, idempotencyKey: `event-${key}` };
    await service.ok('/v1/plans.assign', call);
    await assign(who, first);
    await service.ok('/v1/plans.deletePlan', { planId: second });
    await service.ok('/v1/plans.assign', call);
    expect(await read(who)).toMatchObject({ planId: first });
  });

  test('without a refill there is nothing to wait for', async () => {
    const [planId, other] = [await plan({ remaining: 10 }), await plan()];
    const { who, id, around } = await holder(planId);
    expect(await refused('/v1/plans.assign', { ...who, planId: other, when: 'nextRefill' })).toEqual([
      412,
      `The ${kind === 'key' ? `key ${id}` : `customer "${String(around.externalId)}"`} has no refill to wait for. Set "when" to "now".`,
    ]);
  });

  test('a move that is due comes before any other change, and before it is shown', async () => {
    const refill = { interval: 'monthly', mode: 'add' };
    const small = await plan({ remaining: 10, refill: { ...refill, amount: 10 } });
    const large = await plan({ remaining: 1_000, refill: { ...refill, amount: 1_000 } });
    const holders = await Promise.all([1, 2, 3].map(() => holder(small)));
    for (const { who } of holders) await assign(who, large, { when: 'nextRefill' });
    service.clock.set('2026-04-02T00:00:00Z');
    const [read_, changed, moved] = holders.map(({ who }) => who) as [Who, Who, Who];
    const [, , last] = holders;
    const listed =
      kind === 'key'
        ? (await service.ok('/v1/apis.listKeys', last?.around)).keys
        : (await service.ok('/v1/identities.listIdentities', { search: last?.around.externalId })).identities;
    expect(listed).toMatchObject([{ id: last?.id, planId: large, remaining: 1_010 }]);
    expect(await read(read_)).toMatchObject({ planId: large, remaining: 1_010 });
    await change(changed, { name: 'n' });
    expect(await read(changed)).toMatchObject({ planId: large, remaining: 1_010 });
    await assign(moved, small);
    expect(await read(moved)).toMatchObject({ planId: small, remaining: 1_010 });
  });

  test('at the next refill of a plan whose schedule the new one does not share: that refill comes all the same', async () => {
    const daily = await plan({ remaining: 0, refill: { interval: 'daily', amount: 5 } });
    const monthly = await plan({ remaining: 0, refill: { interval: 'monthly', amount: 100 } });
    const { who, key } = await holder(daily);
    await assign(who, monthly, { when: 'nextRefill' });
    service.clock.set('2026-03-16T00:00:00Z');
    expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 99 });
    service.clock.set('2026-03-20T00:00:00Z');
    expect(await service.verify(key)).toMatchObject({ remaining: 98 });
    service.clock.set('2026-04-01T00:00:00Z');
    expect(await service.verify(key)).toMatchObject({ remaining: 99 });
  });

  test('a number that the operator set stays with the holder when it leaves the plan', async () => {
    const planId = await plan({ remaining: 10 });
    const { who } = await holder(planId);
    await change(who, { remaining: 5_000 });
    await assign(who, null);
    expect((await read(who)).remaining).toBe(5_000);
  });

  test('assigning the plan that it is on, with a clock that was set back, refills nothing twice', async () => {
    const planId = await plan({ remaining: 0, refill: { interval: 'daily', amount: 10, mode: 'add' } });
    const { who, key } = await holder(planId);
    service.clock.set('2026-03-16T00:00:01Z');
    expect(await service.verify(key)).toMatchObject({ remaining: 9 });
    service.clock.set('2026-03-15T23:59:59Z');
    await assign(who, planId);
    service.clock.set('2026-03-16T00:00:02Z');
    expect(await service.verify(key)).toMatchObject({ remaining: 8 });
  });
});

describe.each(HOLDERS)('a clock that is set back, with an %s', (kind) => {
  const { plan, holder, read } = planCalls(() => service, kind);

  test('before a plan was made: its holders are answered', async () => {
    const planId = await plan({ remaining: 5, refill: { interval: 'daily', amount: 5 } });
    const { key } = await holder(planId);
    service.clock.advance(-1_000);
    expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 4 });
  });

  test('a rule that was set by a clock that ran ahead is not counted twice', async () => {
    const refill = (amount: number) => ({ refill: { interval: 'daily', amount, mode: 'add' } });
    const planId = await plan({ remaining: 0, ...refill(10) });
    const { who } = await holder(planId);
    service.clock.set('2026-03-20T12:00:00Z');
    await service.ok('/v1/plans.updatePlan', { planId, ...refill(20) });
    service.clock.set('2026-03-16T12:00:00Z');
    await service.ok('/v1/plans.updatePlan', { planId, ...refill(30) });
    service.clock.set('2026-03-20T12:00:00Z');
    expect((await read(who)).remaining).toBe(10 + 4 * 30);
  });
});
