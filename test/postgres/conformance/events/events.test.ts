import { expect, test } from 'bun:test';

import type { EventQuery, NewEvent } from '../../../../src/storage/port/events.ts';
import { type Storage, PRUNE_GRACE_MS } from '../../../../src/storage/port/storage.ts';
import type { RecordWrite } from '../../../../src/storage/port/writes.ts';
import { describePort } from '../adapters.ts';
import { engineOn } from '../engineOn.ts';
import { api, change, key, openCredits, write, newReservation } from '../samples.ts';
import type { Engine } from '../../../../src/engine/engine.ts';
import { ACTOR, DAY_MS, makeKey, toldOf, verify } from './toldEvents.ts';

const ALL: EventQuery = { after: 0, types: null, limit: 1000 };

function event(id: string, fields: Partial<NewEvent> = {}): NewEvent {
  return { id, type: 'key.created', data: '{}', ...fields };
}

async function apply(storage: Storage, events: readonly NewEvent[], ...writes: RecordWrite[]): Promise<string> {
  return (await storage.ledger.apply({ writes, accounts: [], events })).status;
}

async function idsOf(storage: Storage, query: Partial<EventQuery> = {}): Promise<string[]> {
  return (await storage.events.list({ ...ALL, ...query })).map(({ id }) => id);
}

describePort('events', (setup) => {
  test('an event is kept exactly as it was told, with the time of the ledger, in the order of the changes', async () => {
    const odd = event('evt_1', { data: `{"name":"it's \\"so\\" \\\\ $1 ' ; -- ✓","n":null}` });
    const { clock } = setup();
    expect(await apply(setup().storage, [odd, event('evt_2')], { kind: 'insertApi', api: api('api_1') })).toBe('done');
    const firstAtMs = clock.nowMs();
    clock.advance(-5);
    await apply(setup().storage, [event('evt_3', { type: 'key.deleted' })]);
    await setup().reopen();
    const { storage } = setup();
    const events = await storage.events.list(ALL);
    const [first = 0, second = 0, third = 0] = events.map(({ sequence }) => sequence);
    expect([first < second, second < third, await storage.events.last()]).toEqual([true, true, third]);
    expect(events).toEqual([
      { ...odd, sequence: first, atMs: firstAtMs },
      { ...event('evt_2'), sequence: second, atMs: firstAtMs },
      { ...event('evt_3', { type: 'key.deleted' }), sequence: third, atMs: firstAtMs - 5 },
    ]);
    expect(await idsOf(storage, { after: first, limit: 1 })).toEqual(['evt_2']);
    expect(await idsOf(storage, { types: ['key.deleted'] })).toEqual(['evt_3']);
    expect(await idsOf(storage, { types: ['key.deleted', 'key.created'], after: first })).toEqual(['evt_2', 'evt_3']);
    expect(await idsOf(storage, { types: [] })).toEqual([]);
  });

  test('a refused change leaves no event, and its balance is told with one that names a counter', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertKey', key: key('key_1', { revision: 3 }) });
    const account = await openCredits(storage, 5);
    const renamed: RecordWrite = { kind: 'updateKey', key: key('key_1', { revision: 4 }), expect: 2 };
    expect(await apply(storage, [event('refused')], renamed)).toBe('stale');
    const stale = change({ account, expect: 9, refill: null, set: 1, revision: 9 });
    expect((await storage.ledger.apply({ ...stale, events: [event('refused')] })).status).toBe('stale');
    const added = change({ account, expect: 1, refill: null, add: 2, revision: 1 });
    const told = event('told', { data: '{"before":{"a":1},"b":2}', counter: 0 });
    expect((await storage.ledger.apply({ ...added, events: [told] })).status).toBe('done');
    const [only, ...others] = await storage.events.list(ALL);
    expect(others).toEqual([]);
    expect(JSON.parse(only?.data ?? '')).toEqual({ before: { a: 1, remaining: 5 }, after: { remaining: 7 }, b: 2 });
  });

  test('a reader by cursor misses no event of changes that are made at the same time', async () => {
    const { storage } = setup();
    const writers = Array.from({ length: 8 }, (_, writer) => writer);
    let isWriting = true;
    const seen: string[] = [];
    const reading = (async () => {
      let after = 0;
      for (let isLast = false; !isLast;) {
        isLast = !isWriting;
        const page = await storage.events.list({ ...ALL, after });
        seen.push(...page.map(({ id }) => id));
        after = page.at(-1)?.sequence ?? after;
      }
    })();
    await Promise.all(
      writers.map(async (writer) => {
        for (let i = 0; i < 15; i++) {
          const id = `${writer}_${i}`;
          // Some take the number of a change as well, some none.
          const writes: RecordWrite[] = i % 2 === 0 ? [] : [{ kind: 'insertKey', key: key(`key_${id}`) }];
          expect(await apply(storage, [event(`a${id}`), event(`b${id}`)], ...writes)).toBe('done');
        }
      }),
    );
    isWriting = false;
    await reading;
    expect(seen.toSorted()).toEqual(
      writers.flatMap((w) => Array.from({ length: 15 }, (_, i) => [`a${w}_${i}`, `b${w}_${i}`]).flat()).toSorted(),
    );
    expect(seen).toEqual(await idsOf(storage));
  });

  test('events older than the retention are removed, and their numbers are not given again', async () => {
    const { storage, clock } = setup();
    await apply(
      storage,
      Array.from({ length: 1500 }, (_, i) => event(`old_${i}`)),
    );
    clock.advance(DAY_MS);
    await apply(storage, [event('new')]);
    const last = await storage.events.last();
    const untilMs = clock.nowMs() - DAY_MS;
    expect([await storage.events.prune(untilMs), await storage.events.prune(untilMs)]).toEqual([false, true]);
    expect(await idsOf(storage)).toEqual(['new']);
    expect(await storage.events.prune(clock.nowMs())).toBe(true);
    await setup().reopen();
    await apply(setup().storage, [event('newer')]);
    expect(await setup().storage.events.last()).toBeGreaterThan(last);
  });

  test('every change of a key or an identity writes its event in its own transaction', async () => {
    const { storage } = setup();
    const engine = engineOn(storage);
    const actor = { id: 'rk_1', rights: ['*'], untilMs: null, origin: null, requestId: 'req_1' };
    const { id: apiId } = await engine.apis.create(actor, 'an api');
    const fields = { apiId, prefix: null, byteLength: null };
    const { keyId, secret } = await engine.keys.create(actor, { ...fields, externalId: 'acme', remaining: 5 });
    await engine.keys.updateRemaining(actor, keyId, { op: 'increment', value: 2 });
    await engine.rotateKey.rotate(actor, keyId, 0);
    await engine.deleteKey.delete(actor, keyId, false);
    await engine.deleteKey.restore(actor, keyId);
    const { keyId: other } = await engine.keys.create(actor, fields);
    await engine.apis.deleteKeys(actor, apiId, true);
    await engine.identities.update(actor, { externalId: 'acme' }, { name: 'Acme' });
    await engine.deleteIdentity.delete(actor, { externalId: 'acme' }, null);
    const events = await storage.events.list(ALL);
    const told = events.map(({ type, data }) => [type, JSON.parse(data) as Record<string, unknown>] as const);
    expect(told.map(([type]) => type)).toEqual([
      'identity.created',
      'key.created',
      'key.updated',
      'key.rotated',
      'key.deleted',
      'key.restored',
      'key.created',
      'key.deleted',
      'key.deleted',
      'identity.updated',
      'identity.deleted',
    ]);
    expect(told[2]?.[1]).toEqual({
      keyId,
      apiId,
      externalId: 'acme',
      actor: 'rk_1',
      requestId: 'req_1',
      before: { remaining: 5 },
      after: { remaining: 7 },
    });
    const deleted = told.slice(7, 9).map(([, data]) => data);
    expect(new Set(deleted.map((data) => data['keyId']))).toEqual(new Set([keyId, other]));
    expect(deleted.map((data) => data['permanent'])).toEqual([true, true]);
    expect(JSON.stringify(events)).not.toContain(secret);
  });
});

const DAILY = {
  interval: 'daily',
  amount: 5,
  refillDay: null,
  refillWeekday: null,
  timezone: null,
  mode: 'restore',
  max: null,
} as const;

const LOW = 'credits.low';
const EXHAUSTED = 'credits.exhausted';

function toldPort({ told }: Storage): Storage['told'] {
  return {
    credits: (accounts) => told.credits(accounts),
    recheck: (after, count) => told.recheck(after, count),
    untoldRefills: (most) => told.untoldRefills(most),
    pruneLimits: (endedBeforeMs) => told.pruneLimits(endedBeforeMs),
  };
}

describePort('events of credits', (setup) => {
  const told = async (): Promise<unknown[]> =>
    (await toldOf(setup().storage, LOW, EXHAUSTED)).map(({ type, remaining }) => [type, remaining]);

  test('a balance that falls below its threshold, and then to 0, is told of once each, by one of two nodes', async () => {
    const { storage } = setup();
    const nodes = [engineOn(storage), engineOn(storage)] as const;
    const { keyId, apiId, secret } = await makeKey(nodes[0], { remaining: 5, alerts: { creditsBelow: 3 } });
    const spend = async () => {
      for (const node of nodes) await verify(node, secret);
      await Promise.all(nodes.map((node) => node.tellCredits.run()));
    };
    await spend();
    expect(await told()).toEqual([]);
    await spend();
    expect(await toldOf(storage, LOW, EXHAUSTED)).toEqual([{ type: LOW, keyId, apiId, remaining: 1, threshold: 3 }]);
    await spend();
    await spend();
    await Promise.all(nodes.map((node) => node.tellCredits.recheck()));
    expect((await toldOf(storage, LOW, EXHAUSTED)).slice(1)).toEqual([{ type: EXHAUSTED, keyId, apiId, remaining: 0 }]);
  });

  test('without a threshold only the end of the credits is told of', async () => {
    const { storage } = setup();
    const node = engineOn(storage);
    const { secret } = await makeKey(node, { remaining: 2 });
    for (let i = 0; i < 3; i++) {
      await verify(node, secret);
      await node.tellCredits.run();
    }
    expect(await told()).toEqual([[EXHAUSTED, 0]]);
  });

  test('of what is metered nothing is told, and of the credits of its identity as ever', async () => {
    const { storage } = setup();
    const node = engineOn(storage);
    await node.identities.create(ACTOR, 'acme', { remaining: 1 });
    const { secret } = await makeKey(node, { metered: true, externalId: 'acme' });
    const alone = await makeKey(node, { metered: true });
    for (let i = 0; i < 2; i++) await verify(node, secret);
    await verify(node, alone.secret);
    await node.tellCredits.run();
    await node.tellCredits.recheck();
    expect(await toldOf(storage, LOW, EXHAUSTED)).toMatchObject([
      { type: EXHAUSTED, externalId: 'acme', remaining: 0 },
    ]);
  });

  test('a balance that was raised to its threshold is told of again, and one that stayed below it is not', async () => {
    const { storage } = setup();
    const node = engineOn(storage);
    const { keyId, secret } = await makeKey(node, { remaining: 3, alerts: { creditsBelow: 3 } });
    const spend = async (creditCost: number) => {
      await verify(node, secret, { creditCost });
      await node.tellCredits.run();
    };
    const add = (value: number) => node.keys.updateRemaining(ACTOR, keyId, { op: 'increment', value });
    await spend(3);
    expect(await told()).toEqual([
      [LOW, 0],
      [EXHAUSTED, 0],
    ]);
    await add(2);
    await spend(1);
    expect((await told()).length).toBe(2);
    await spend(1);
    expect((await told()).slice(2)).toEqual([[EXHAUSTED, 0]]);
    await add(3);
    await spend(1);
    expect((await told()).slice(3)).toEqual([[LOW, 2]]);
  });

  test('a refill and the next exhaustion in the same second are told of once each', async () => {
    const { storage, clock } = setup();
    const nodes = [engineOn(storage), engineOn(storage)] as const;
    const { secret } = await makeKey(nodes[0], { remaining: 5, refill: DAILY, alerts: { creditsBelow: 2 } });
    const tell = () => Promise.all(nodes.flatMap((node) => [node.tellCredits.run(), node.tellRefills.run()]));
    const use = async (node: Engine) => {
      expect((await verify(node, secret, { creditCost: 5 })).code).toBe('VALID');
      expect((await verify(node, secret)).code).toBe('USAGE_EXCEEDED');
    };
    await use(nodes[0]);
    await tell();
    const first = [
      [LOW, 0],
      [EXHAUSTED, 0],
    ];
    expect(await told()).toEqual(first);
    clock.advance(DAY_MS);
    await use(nodes[1]);
    expect((await verify(nodes[0], secret)).code).toBe('USAGE_EXCEEDED');
    await tell();
    await tell();
    await Promise.all(nodes.map((node) => node.tellCredits.recheck()));
    expect(await told()).toEqual([...first, ...first]);
    expect(await toldOf(storage, 'credits.refilled')).toMatchObject([{ refilled: 5, remaining: 5 }]);
  });

  test('a request that costs more than is left is told of once, and the last credit apart from it', async () => {
    const { storage } = setup();
    const node = engineOn(storage);
    const { secret, keyId } = await makeKey(node, { remaining: 3 });
    const ask = async (creditCost: number) => {
      await verify(node, secret, { creditCost });
      await node.tellCredits.run();
    };
    await ask(5);
    await ask(1e15);
    expect(await told()).toEqual([[EXHAUSTED, 3]]);
    await ask(3);
    await ask(1);
    expect(await told()).toEqual([
      [EXHAUSTED, 3],
      [EXHAUSTED, 0],
    ]);
    await node.keys.updateRemaining(ACTOR, keyId, { op: 'set', value: 1 });
    await ask(5);
    expect((await told()).slice(2)).toEqual([[EXHAUSTED, 1]]);
  });

  test('what has risen before it could be told is not told', async () => {
    const { storage } = setup();
    const node = engineOn(storage);
    const { secret, keyId } = await makeKey(node, { remaining: 3, alerts: { creditsBelow: 3 } });
    await verify(node, secret, { creditCost: 3 });
    await node.keys.updateRemaining(ACTOR, keyId, { op: 'increment', value: 3 });
    await node.tellCredits.run();
    await node.tellCredits.recheck();
    expect(await told()).toEqual([]);
    await verify(node, secret);
    await node.tellCredits.run();
    expect(await told()).toEqual([[LOW, 2]]);
  });

  test('a balance that rises while it is being told of is not told of, and is told of when it falls again', async () => {
    const { storage } = setup();
    const other = engineOn(storage);
    const { secret, keyId } = await makeKey(other, { remaining: 3, alerts: { creditsBelow: 3 } });
    let reads = 0;
    const credits = async (accounts: readonly number[]) => {
      const rows = await storage.told.credits(accounts);
      // The second read comes after the balance was read.
      if (++reads === 2) await other.keys.updateRemaining(ACTOR, keyId, { op: 'increment', value: 3 });
      return rows;
    };
    const slow = { ...toldPort(storage), credits };
    const node = engineOn(Object.create(storage, { told: { value: slow } }) as Storage);
    await verify(node, secret);
    await node.tellCredits.run();
    await node.tellCredits.run();
    expect([reads > 2, await told()]).toEqual([true, []]);
    await verify(node, secret, { creditCost: 3 });
    await node.tellCredits.run();
    expect(await told()).toEqual([[LOW, 2]]);
  });

  test('what a node could not tell before it was killed is told after the restart', async () => {
    const { storage } = setup();
    const node = engineOn(storage);
    const used = await makeKey(node, { remaining: 2 });
    const low = await makeKey(node, { remaining: 9, alerts: { creditsBelow: 9 } });
    await makeKey(node, { remaining: 0 });
    await makeKey(node, { remaining: 9 });
    await verify(node, used.secret, { creditCost: 2 });
    await verify(node, low.secret);
    const after = await setup().afterCrash();
    const next = engineOn(after);
    await next.tellCredits.run();
    expect(await toldOf(after, LOW, EXHAUSTED)).toEqual([]);
    await next.tellCredits.recheck();
    await next.tellCredits.recheck();
    const found = await toldOf(after, LOW, EXHAUSTED);
    expect(found.toSorted((a, b) => Number(a['remaining']) - Number(b['remaining']))).toMatchObject([
      { type: EXHAUSTED, keyId: used.keyId, remaining: 0 },
      { type: LOW, keyId: low.keyId, remaining: 8 },
    ]);
  });

  test('an identity is told of under its own threshold, or that of its plan, with its external id and its plan', async () => {
    const { storage } = setup();
    const node = engineOn(storage);
    const planId = await node.plans.create(ACTOR, 'pro', { remaining: 5, alerts: { creditsBelow: 4 } });
    const { secret } = await makeKey(node, { externalId: 'acme' });
    await node.assignPlan.assign(ACTOR, { holder: { externalId: 'acme' }, planId, when: 'now', balance: 'keep' });
    const spend = async () => {
      await verify(node, secret);
      await node.tellCredits.run();
    };
    await spend();
    expect(await told()).toEqual([]);
    await spend();
    const found = await storage.records.findIdentity('acme');
    expect(await toldOf(storage, LOW)).toEqual([
      { type: LOW, identityId: found?.id, externalId: 'acme', planId, remaining: 3, threshold: 4 },
    ]);
    await node.identities.update(ACTOR, { externalId: 'acme' }, { alerts: { creditsBelow: 3 } });
    await spend();
    expect(await toldOf(storage, LOW)).toMatchObject([{ threshold: 4 }, { remaining: 2, threshold: 3 }]);
    // Back to the threshold of the plan, of which was told already.
    await node.identities.update(ACTOR, { externalId: 'acme' }, { alerts: { creditsBelow: null } });
    await spend();
    await node.tellCredits.recheck();
    expect((await told()).length).toBe(2);
  });

  test('a key that is on a plan itself has the threshold and the limits of the plan', async () => {
    const { storage } = setup();
    const node = engineOn(storage);
    const planId = await node.plans.create(ACTOR, 'pro', {
      remaining: 3,
      alerts: { creditsBelow: 3 },
      otherLimits: [{ name: 'a', limit: 1, durationMs: 60_000, async: true, notify: true }],
    });
    const { keyId, apiId, secret } = await makeKey(node, {});
    await node.assignPlan.assign(ACTOR, { holder: { keyId }, planId, when: 'now', balance: 'keep' });
    for (let i = 0; i < 2; i++) await verify(node, secret);
    await node.tellLimits.run();
    await node.tellCredits.recheck();
    expect(await toldOf(storage, LOW, 'limit.reached')).toMatchObject([
      { type: 'limit.reached', keyId, apiId, planId, name: 'a' },
      { type: LOW, keyId, apiId, planId, remaining: 2, threshold: 3 },
    ]);
    await verify(node, secret);
    await node.tellCredits.run();
    expect((await told()).length).toBe(1);
  });

  test('credits that a reservation gives back are told of again when they are used up', async () => {
    const { storage } = setup();
    const node = engineOn(storage);
    const { secret, keyId, apiId } = await makeKey(node, { remaining: 2 });
    const account = (await node.keys.get(ACTOR, keyId)).key.credits?.account ?? 0;
    const revision = (await node.keys.get(ACTOR, keyId)).key.revision;
    const rule = { kind: 'credits', refill: null } as const;
    const held = await storage.ledger.reserve(
      { charges: [{ account, amount: 1, rule, revision }], fences: [], idempotency: null },
      newReservation('res_1', { keyId, apiId }),
    );
    expect(held.reservation?.state).toBe('held');
    await verify(node, secret);
    await node.tellCredits.run();
    expect(await told()).toEqual([[EXHAUSTED, 0]]);
    await storage.ledger.endReservation('res_1', { kind: 'release' });
    await verify(node, secret);
    await node.tellCredits.run();
    expect(await told()).toEqual([
      [EXHAUSTED, 0],
      [EXHAUSTED, 0],
    ]);
  });
});

const MINUTE_MS = 60_000;

function limit(name: string, async: boolean, notify: boolean) {
  return { name, limit: 1, durationMs: MINUTE_MS, async, notify };
}

describePort('events of limits', (setup) => {
  for (const async of [true, false]) {
    test(`a ${async ? 'local' : 'strict'} limit that refuses is told of once in each window, by one of two nodes`, async () => {
      const { storage, clock } = setup();
      const nodes = [engineOn(storage), engineOn(storage)] as const;
      const defaultLimit = limit('default', async, true);
      const { keyId, apiId, secret } = await makeKey(nodes[0], { defaultLimit });
      const use = async () => {
        for (const node of nodes) for (let i = 0; i < 3; i++) await verify(node, secret);
        await Promise.all(nodes.map((node) => node.tellLimits.run()));
      };
      const first = Math.ceil((clock.nowMs() + 1) / MINUTE_MS) * MINUTE_MS;
      await use();
      await use();
      const facts = { type: 'limit.reached', keyId, apiId, name: 'default', limit: 1, duration: MINUTE_MS, async };
      expect(await toldOf(storage, 'limit.reached')).toEqual([{ ...facts, reset: first }]);
      clock.advance(MINUTE_MS);
      await use();
      expect(await toldOf(storage, 'limit.reached')).toEqual([
        { ...facts, reset: first },
        { ...facts, reset: first + MINUTE_MS },
      ]);
    });
  }

  test('limits without notify, and windows that a request made, are not told of', async () => {
    const { storage } = setup();
    const node = engineOn(storage);
    const limits = { defaultLimit: limit('default', true, false), otherLimits: [limit('a', true, true)] };
    const { secret } = await makeKey(node, limits);
    for (let i = 0; i < 3; i++) {
      await verify(node, secret, { limits: [{ name: 'a', cost: 0 }] });
      await verify(node, secret, { limits: [{ name: 'a', limit: 1, durationMs: 2 * MINUTE_MS }] });
    }
    await node.tellLimits.run();
    expect(await toldOf(storage, 'limit.reached')).toEqual([]);
  });

  test('a limit of an identity, and one of its plan, are told of as its own', async () => {
    const { storage } = setup();
    const node = engineOn(storage);
    const planId = await node.plans.create(ACTOR, 'pro', { otherLimits: [limit('of plan', false, true)] });
    const identityId = await node.identities.create(ACTOR, 'acme', {
      otherLimits: [{ ...limit('own', true, true), limit: 2 }],
    });
    const { secret } = await makeKey(node, { externalId: 'acme' });
    await node.assignPlan.assign(ACTOR, { holder: { externalId: 'acme' }, planId, when: 'now', balance: 'keep' });
    for (const name of ['of plan', 'own']) {
      for (let i = 0; i < 3; i++) await verify(node, secret, { limits: [{ name, cost: 3 }] });
      await node.tellLimits.run();
    }
    const ids = { identityId, externalId: 'acme', planId };
    expect(await toldOf(storage, 'limit.reached')).toMatchObject([
      { ...ids, name: 'of plan', limit: 1, async: false },
      { ...ids, name: 'own', limit: 2, async: true },
    ]);
  });

  test('what was told of a limit is forgotten long after its window', async () => {
    const { storage, clock } = setup();
    const node = engineOn(storage);
    const { secret } = await makeKey(node, { defaultLimit: limit('default', true, true) });
    for (let i = 0; i < 2; i++) await verify(node, secret);
    await node.tellLimits.run();
    const window = { kind: 'tellLimit', owner: 'key_1', name: 'default', durationMs: MINUTE_MS, resetAtMs: 5 } as const;
    const tell = async () => (await storage.ledger.apply({ writes: [window], accounts: [] })).status;
    expect([await tell(), await tell()]).toEqual(['done', 'stale']);
    expect(await storage.told.pruneLimits(clock.nowMs() - PRUNE_GRACE_MS)).toBe(true);
    expect([await tell(), await tell()]).toEqual(['done', 'stale']);
  });
});

const ADDED_DAILY = {
  interval: 'daily',
  amount: 5,
  refillDay: null,
  refillWeekday: null,
  timezone: null,
  mode: 'add',
  max: null,
} as const;

describePort('events of refills', (setup) => {
  test('each refill is told of once, by one of two nodes, whether a verification or the sweep has written it', async () => {
    const { storage, clock } = setup();
    const nodes = [engineOn(storage), engineOn(storage)] as const;
    const tell = () => Promise.all(nodes.map((node) => node.tellRefills.run()));
    const used = await makeKey(nodes[0], { remaining: 5, refill: ADDED_DAILY, externalId: 'acme' });
    const idle = await makeKey(nodes[0], { remaining: 1, refill: ADDED_DAILY });
    const planId = await nodes[0].plans.create(ACTOR, 'pro', { remaining: 7, refill: ADDED_DAILY });
    await nodes[0].assignPlan.assign(ACTOR, { holder: { externalId: 'acme' }, planId, when: 'now', balance: 'keep' });
    await nodes[0].dueCredits.sweep();
    await tell();
    expect(await toldOf(storage, 'credits.refilled')).toEqual([]);
    clock.advance(DAY_MS);
    const refilledAt = clock.nowMs() - (clock.nowMs() % DAY_MS);
    await verify(nodes[1], used.secret, { creditCost: 2 });
    await nodes[1].dueCredits.sweep();
    for (let i = 0; i < 3; i++) await tell();
    const identity = await storage.records.findIdentity('acme');
    const all = await toldOf(storage, 'credits.refilled');
    const fact = { type: 'credits.refilled', refilled: 5, refilledAt };
    const { apiId } = used;
    expect(all.toSorted((a, b) => Number(a['remaining']) - Number(b['remaining']))).toEqual([
      { ...fact, keyId: idle.keyId, apiId: idle.apiId, remaining: 6 },
      { ...fact, keyId: used.keyId, apiId, externalId: 'acme', remaining: 10 },
      { ...fact, identityId: identity?.id, externalId: 'acme', planId, remaining: 12 },
    ]);
    await nodes[0].deleteKey.delete(ACTOR, idle.keyId, false);
    clock.advance(DAY_MS);
    await nodes[0].dueCredits.sweep();
    for (let i = 0; i < 3; i++) await tell();
    expect((await toldOf(storage, 'credits.refilled')).length).toBe(5);
    expect(await storage.told.untoldRefills(10)).toEqual([]);
  });

  test('more refills than fit into one step are told of in one run', async () => {
    const { storage, clock } = setup();
    const node = engineOn(storage);
    const { id: apiId } = await node.apis.create(ACTOR, 'an api');
    const fields = { apiId, prefix: null, byteLength: null, remaining: 0, refill: ADDED_DAILY };
    await node.keys.createMany(
      ACTOR,
      Array.from({ length: 205 }, () => fields),
    );
    clock.advance(DAY_MS);
    await node.dueCredits.sweep();
    await node.tellRefills.run();
    expect((await toldOf(storage, 'credits.refilled')).length).toBe(205);
  });
});

const HOUR_MS = 3_600_000;

const ROOT_KEY = { id: 'rk_1', rights: ['*'], untilMs: null, origin: null, requestId: null };

async function toldExpiries(storage: Storage): Promise<[keyId: string, expires: number][]> {
  const events = await storage.events.list({ after: 0, types: ['key.expiring'], limit: 1000 });
  return events.map(({ data }) => {
    const { keyId, expires } = JSON.parse(data) as { keyId: string; expires: number };
    return [keyId, expires];
  });
}

describePort('keys that expire', (setup) => {
  test('each is told of once for each expiry, as early as it or its identity says, by one of two nodes', async () => {
    const { storage, clock } = setup();
    const [one, two] = [engineOn(storage), engineOn(storage)];
    const sweep = async () => {
      await Promise.all([one.expiringKeys.run(), two.expiringKeys.run()]);
    };
    const expiresAtMs = clock.nowMs() + 10 * HOUR_MS;
    const { id: apiId } = await one.apis.create(ROOT_KEY, 'an api');
    const create = async (fields: object) =>
      (await one.keys.create(ROOT_KEY, { apiId, prefix: null, byteLength: null, ...fields })).keyId;
    await one.identities.create(ROOT_KEY, 'acme', { alerts: { expiresWithinMs: 5 * HOUR_MS } });
    const own = await create({ expiresAtMs, alerts: { expiresWithinMs: 2 * HOUR_MS }, remaining: 5 });
    const ofIdentity = await create({ expiresAtMs, externalId: 'acme' });
    const both = await create({ expiresAtMs, externalId: 'acme', alerts: { expiresWithinMs: HOUR_MS } });
    const gone = await create({ expiresAtMs, alerts: { expiresWithinMs: 9 * HOUR_MS } });
    await create({ expiresAtMs });
    await create({ alerts: { expiresWithinMs: 9 * HOUR_MS } });
    await one.deleteKey.delete(ROOT_KEY, gone, false);

    clock.advance(5 * HOUR_MS - 1);
    await sweep();
    expect(await toldExpiries(storage)).toEqual([]);
    clock.advance(1);
    await sweep();
    expect(await toldExpiries(storage)).toEqual([[ofIdentity, expiresAtMs]]);
    clock.advance(3 * HOUR_MS);
    await sweep();
    await sweep();
    expect(await toldExpiries(storage)).toEqual([
      [ofIdentity, expiresAtMs],
      [own, expiresAtMs],
    ]);
    // Another change says nothing of the expiry; another expiry is told of anew. The balance is as it was.
    await one.keys.update(ROOT_KEY, own, { name: 'other' });
    await sweep();
    await one.keys.update(ROOT_KEY, own, { expiresAtMs: expiresAtMs + HOUR_MS });
    clock.advance(HOUR_MS);
    await sweep();
    expect(new Map((await toldExpiries(storage)).slice(2))).toEqual(
      new Map([
        [own, expiresAtMs + HOUR_MS],
        [both, expiresAtMs],
      ]),
    );
    expect((await one.keys.get(ROOT_KEY, own)).remaining).toBe(5);
    // Of what expired long ago nothing is told, even when someone asks for it now.
    clock.advance(8 * 24 * HOUR_MS);
    const before = (await toldExpiries(storage)).length;
    await one.keys.update(ROOT_KEY, own, { expiresAtMs, alerts: { expiresWithinMs: HOUR_MS } });
    await sweep();
    expect((await toldExpiries(storage)).length).toBe(before);
  });

  test('the alerts of a plan hold for keys where neither the key nor its identity says when', async () => {
    const { storage, clock } = setup();
    const engine = engineOn(storage);
    const expiresAtMs = clock.nowMs() + 10 * HOUR_MS;
    const { id: apiId } = await engine.apis.create(ROOT_KEY, 'an api');
    const planId = await engine.plans.create(ROOT_KEY, 'pro', { alerts: { expiresWithinMs: 5 * HOUR_MS } });
    await engine.identities.create(ROOT_KEY, 'own', { alerts: { expiresWithinMs: HOUR_MS } });
    const keys = new Map<string, string>();
    for (const externalId of ['own', 'none']) {
      const { keyId } = await engine.keys.create(ROOT_KEY, {
        apiId,
        prefix: null,
        byteLength: null,
        expiresAtMs,
        externalId,
        remaining: 5,
        alerts: { creditsBelow: 1 },
      });
      keys.set(externalId, keyId);
      await engine.assignPlan.assign(ROOT_KEY, { holder: { externalId }, planId, when: 'now', balance: 'keep' });
    }
    const holder = { apiId, prefix: null, byteLength: null, expiresAtMs };
    const { keyId } = await engine.keys.create(ROOT_KEY, holder);
    await engine.assignPlan.assign(ROOT_KEY, { holder: { keyId }, planId, when: 'now', balance: 'keep' });
    clock.advance(5 * HOUR_MS);
    await engine.expiringKeys.run();
    const ids = (await toldExpiries(storage)).map(([id]) => id);
    expect(ids.toSorted()).toEqual([keys.get('none') ?? '', keyId].toSorted());
    clock.advance(4 * HOUR_MS);
    await engine.expiringKeys.run();
    expect((await toldExpiries(storage)).slice(2)).toEqual([[keys.get('own') ?? '', expiresAtMs]]);
  });

  test('a start that comes late tells of all, more than one step can take', async () => {
    const { storage, clock } = setup();
    const engine = engineOn(storage);
    const { id: apiId } = await engine.apis.create(ROOT_KEY, 'an api');
    const expiresAtMs = clock.nowMs() + HOUR_MS;
    const fields = { apiId, prefix: null, byteLength: null, expiresAtMs, alerts: { expiresWithinMs: HOUR_MS } };
    const made = await Promise.all(Array.from({ length: 205 }, () => engine.keys.create(ROOT_KEY, fields)));
    clock.advance(24 * HOUR_MS);
    await engine.expiringKeys.run();
    const ids = (await toldExpiries(storage)).map(([keyId]) => keyId);
    expect(ids.toSorted()).toEqual(made.map(({ keyId }) => keyId).toSorted());
  });
});
