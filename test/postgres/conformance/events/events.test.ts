import { expect, test } from 'bun:test';

import type { EventQuery, NewEvent } from '../../../../src/storage/port/events.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import type { RecordWrite } from '../../../../src/storage/port/writes.ts';
import { describePort } from '../adapters.ts';
import { engineOn } from '../engineOn.ts';
import { api, change, key, openCredits, write } from '../samples.ts';

const DAY_MS = 86_400_000;
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
