import { expect, test } from 'bun:test';

import type { Storage } from '../../../src/storage/port/storage.ts';
import type { AuditEvent, EventQuery } from '../../../src/storage/port/events.ts';
import type { RecordWrite } from '../../../src/storage/port/writes.ts';
import { describePort } from './adapters.ts';
import { api, change, event, key, openCredits, write } from './samples.ts';

const ALL: EventQuery = {
  limit: 100,
  before: null,
  actor: null,
  action: null,
  target: null,
  fromMs: null,
  untilMs: null,
};

async function actionsOf(storage: Storage, query: Partial<EventQuery> = {}): Promise<string[]> {
  const { events } = await storage.records.listEvents({ ...ALL, ...query });
  return events.map(({ action }) => action);
}

async function apply(storage: Storage, writes: readonly RecordWrite[], ...events: AuditEvent[]): Promise<string> {
  return (await storage.ledger.apply({ writes, accounts: [], events })).status;
}

describePort('events', (setup) => {
  test('an event is kept exactly as it was told, with the time of the ledger', async () => {
    const told = event('key.update', {
      actor: 'rk_7',
      target: 'key_7',
      before: `{"name":"it's \\"so\\" \\\\ $1 ' ; -- ✓","n":null}`,
      after: '{"name":"E\'\\\\n\'"}',
      origin: '2001:db8::1',
      requestId: 'req_1',
    });
    expect(await apply(setup().storage, [{ kind: 'insertApi', api: api('api_1') }], told)).toBe('done');
    await setup().reopen();
    const { events, cursor } = await setup().storage.records.listEvents(ALL);
    expect(events).toEqual([{ ...told, number: events[0]?.number ?? 0, atMs: setup().clock.nowMs() }]);
    expect(cursor).toBeNull();
  });

  test('what is absent stays absent', async () => {
    const { storage } = setup();
    await apply(storage, [], event('a'));
    expect((await storage.records.listEvents(ALL)).events).toMatchObject([
      { before: null, after: null, origin: null, requestId: null },
    ]);
  });

  test('the newest come first; those of one change in the order in which they were told', async () => {
    const { storage, clock } = setup();
    await apply(storage, [], event('a'), event('b'), event('c'));
    clock.advance(1);
    await apply(storage, [{ kind: 'insertApi', api: api('api_1') }], event('d'));
    clock.advance(-1000);
    await apply(storage, [], event('e'), event('f'));
    const { events } = await storage.records.listEvents(ALL);
    expect(events.map(({ action }) => action)).toEqual(['f', 'e', 'd', 'c', 'b', 'a']);
    const numbers = events.map(({ number }) => number);
    expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => b - a));
  });

  test('a refused change leaves no event, whatever refuses it', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertKey', key: key('key_1', { revision: 3 }) });
    const account = await openCredits(storage, 5);
    const renamed: RecordWrite = { kind: 'updateKey', key: key('key_1', { revision: 4 }), expect: 2 };
    expect(await apply(storage, [renamed], event('refused'))).toBe('stale');
    expect(await apply(storage, [{ kind: 'insertKey', key: key('key_1') }], event('refused'))).toBe('stale');
    const counted = change({ account, expect: 9, refill: null, set: 1, revision: 9 });
    expect((await storage.ledger.apply({ ...counted, events: [event('refused')] })).status).toBe('stale');
    expect(await actionsOf(storage)).toEqual([]);
  });

  test('of changes that arrive together each leaves its events when it is done, and none when it is refused', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertKey', key: key('key_1') });
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, i) => {
        const renamed: RecordWrite = { kind: 'updateKey', key: key('key_1', { revision: 2, name: `${i}` }), expect: 1 };
        return apply(storage, [renamed], event(`rename ${i}`), event(`more ${i}`));
      }),
    );
    expect(outcomes.filter((status) => status === 'done').length).toBe(1);
    const winner = outcomes.indexOf('done');
    expect(await actionsOf(storage)).toEqual([`more ${winner}`, `rename ${winner}`]);
    expect(await storage.records.findKey('key_1')).toMatchObject({ key: { name: `${winner}` } });
  });

  test('a change without events leaves none; one that changes only counters can have some', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertKey', key: key('key_1') });
    const account = await openCredits(storage, 5);
    const counted = change({ account, expect: 1, refill: null, add: 1, revision: 1 });
    await storage.ledger.apply({ ...counted, events: [event('count')] });
    expect(await actionsOf(storage)).toEqual(['count']);
  });

  test('each filter, and all of them together, take what fits and nothing else', async () => {
    const { storage, clock } = setup();
    const startMs = clock.nowMs();
    for (const [i, fields] of [
      { actor: 'rk_1', target: 'api_1' },
      { actor: 'rk_2', target: 'api_1' },
      { actor: 'rk_1', target: 'api_2' },
      { actor: 'rk_2', target: 'api_2' },
    ].entries()) {
      clock.set(startMs + i);
      await apply(storage, [], event(i % 2 === 0 ? 'even' : 'odd', { ...fields, requestId: `${i}` }));
    }
    const places = async (query: Partial<EventQuery>) =>
      (await storage.records.listEvents({ ...ALL, ...query })).events.map(({ requestId }) => Number(requestId));
    expect(await places({})).toEqual([3, 2, 1, 0]);
    expect(await places({ actor: 'rk_1' })).toEqual([2, 0]);
    expect(await places({ action: 'odd' })).toEqual([3, 1]);
    expect(await places({ target: 'api_2' })).toEqual([3, 2]);
    expect(await places({ fromMs: startMs + 1 })).toEqual([3, 2, 1]);
    expect(await places({ untilMs: startMs + 1 })).toEqual([0]);
    expect(await places({ fromMs: startMs + 1, untilMs: startMs + 3 })).toEqual([2, 1]);
    expect(await places({ actor: 'rk_2', action: 'odd', target: 'api_1', fromMs: startMs })).toEqual([1]);
    expect(await places({ actor: 'rk_2', action: 'even' })).toEqual([]);
    expect(await places({ actor: 'RK_1' })).toEqual([]);
  });

  test('pages follow each other by their cursor with nothing twice and nothing left out, also while more arrive', async () => {
    const { storage } = setup();
    for (let i = 0; i < 10; i++) {
      await apply(storage, [{ kind: 'insertApi', api: api(`api_${i}`) }], event(`${i}`));
      await write(storage, { kind: 'insertKey', key: key(`key_${i}`) });
    }
    for (const limit of [1, 3, 5, 10, 11]) {
      const seen: string[] = [];
      let before: number | null = null;
      do {
        const page: Awaited<ReturnType<Storage['records']['listEvents']>> = await storage.records.listEvents({
          ...ALL,
          limit,
          before,
        });
        seen.push(...page.events.map(({ action }) => action));
        expect(page.events.length).toBeLessThanOrEqual(limit);
        before = page.cursor;
        await apply(storage, [], event('later'));
      } while (before !== null);
      expect(seen.filter((action) => action !== 'later')).toEqual(['9', '8', '7', '6', '5', '4', '3', '2', '1', '0']);
    }
    expect(await actionsOf(storage, { before: 0 })).toEqual([]);
  });

  test('events are not pruned', async () => {
    const { storage, clock } = setup();
    await apply(storage, [{ kind: 'insertKey', key: key('key_1') }], event('old'));
    clock.advance(400 * 86_400_000);
    await storage.ledger.prune();
    expect(await actionsOf(storage)).toEqual(['old']);
  });
});
