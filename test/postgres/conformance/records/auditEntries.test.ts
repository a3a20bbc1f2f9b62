import { expect, test } from 'bun:test';

import type { Storage } from '../../../../src/storage/port/storage.ts';
import type { AuditEntry, EntryQuery } from '../../../../src/storage/port/auditEntries.ts';
import type { RecordWrite } from '../../../../src/storage/port/writes.ts';
import { describePort } from '../adapters.ts';
import { api, change, entry, key, openCredits, write } from '../samples.ts';

const ALL: EntryQuery = {
  limit: 100,
  before: null,
  actor: null,
  action: null,
  target: null,
  fromMs: null,
  untilMs: null,
};

async function actionsOf(storage: Storage, query: Partial<EntryQuery> = {}): Promise<string[]> {
  const { entries } = await storage.records.listEntries({ ...ALL, ...query });
  return entries.map(({ action }) => action);
}

async function apply(storage: Storage, writes: readonly RecordWrite[], ...entries: AuditEntry[]): Promise<string> {
  return (await storage.ledger.apply({ writes, accounts: [], entries })).status;
}

describePort('entries', (setup) => {
  test('an entry is kept exactly as it was told, with the time of the ledger', async () => {
    const told = entry('key.update', {
      actor: 'rk_7',
      target: 'key_7',
      before: `{"name":"it's \\"so\\" \\\\ $1 ' ; -- ✓","n":null}`,
      after: '{"name":"E\'\\\\n\'"}',
      origin: '2001:db8::1',
      requestId: 'req_1',
    });
    expect(await apply(setup().storage, [{ kind: 'insertApi', api: api('api_1') }], told)).toBe('done');
    await setup().reopen();
    const { entries, cursor } = await setup().storage.records.listEntries(ALL);
    expect(entries).toEqual([{ ...told, number: entries[0]?.number ?? 0, atMs: setup().clock.nowMs() }]);
    expect(cursor).toBeNull();
  });

  test('what is absent stays absent', async () => {
    const { storage } = setup();
    await apply(storage, [], entry('a'));
    expect((await storage.records.listEntries(ALL)).entries).toMatchObject([
      { before: null, after: null, origin: null, requestId: null },
    ]);
  });

  test('the newest come first; those of one change in the order in which they were told', async () => {
    const { storage, clock } = setup();
    await apply(storage, [], entry('a'), entry('b'), entry('c'));
    clock.advance(1);
    await apply(storage, [{ kind: 'insertApi', api: api('api_1') }], entry('d'));
    clock.advance(-1000);
    await apply(storage, [], entry('e'), entry('f'));
    const { entries } = await storage.records.listEntries(ALL);
    expect(entries.map(({ action }) => action)).toEqual(['f', 'e', 'd', 'c', 'b', 'a']);
    const numbers = entries.map(({ number }) => number);
    expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => b - a));
  });

  test('a refused change leaves no entry, whatever refuses it', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertKey', key: key('key_1', { revision: 3 }) });
    const account = await openCredits(storage, 5);
    const renamed: RecordWrite = { kind: 'updateKey', key: key('key_1', { revision: 4 }), expect: 2 };
    expect(await apply(storage, [renamed], entry('refused'))).toBe('stale');
    expect(await apply(storage, [{ kind: 'insertKey', key: key('key_1') }], entry('refused'))).toBe('stale');
    const counted = change({ account, expect: 9, refill: null, set: 1, revision: 9 });
    expect((await storage.ledger.apply({ ...counted, entries: [entry('refused')] })).status).toBe('stale');
    expect(await actionsOf(storage)).toEqual([]);
  });

  test('of changes that arrive together each leaves its entries when it is done, and none when it is refused', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertKey', key: key('key_1') });
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, i) => {
        const renamed: RecordWrite = { kind: 'updateKey', key: key('key_1', { revision: 2, name: `${i}` }), expect: 1 };
        return apply(storage, [renamed], entry(`rename ${i}`), entry(`more ${i}`));
      }),
    );
    expect(outcomes.filter((status) => status === 'done').length).toBe(1);
    const winner = outcomes.indexOf('done');
    expect(await actionsOf(storage)).toEqual([`more ${winner}`, `rename ${winner}`]);
    expect(await storage.records.findKey('key_1')).toMatchObject({ key: { name: `${winner}` } });
  });

  test('a change without entries leaves none; one that changes only counters can have some', async () => {
    const { storage } = setup();
    await write(storage, { kind: 'insertKey', key: key('key_1') });
    const account = await openCredits(storage, 5);
    const counted = change({ account, expect: 1, refill: null, add: 1, revision: 1 });
    await storage.ledger.apply({ ...counted, entries: [entry('count')] });
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
      await apply(storage, [], entry(i % 2 === 0 ? 'even' : 'odd', { ...fields, requestId: `${i}` }));
    }
    const places = async (query: Partial<EntryQuery>) =>
      (await storage.records.listEntries({ ...ALL, ...query })).entries.map(({ requestId }) => Number(requestId));
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
      await apply(storage, [{ kind: 'insertApi', api: api(`api_${i}`) }], entry(`${i}`));
      await write(storage, { kind: 'insertKey', key: key(`key_${i}`) });
    }
    for (const limit of [1, 3, 5, 10, 11]) {
      const seen: string[] = [];
      let before: number | null = null;
      do {
        const page: Awaited<ReturnType<Storage['records']['listEntries']>> = await storage.records.listEntries({
          ...ALL,
          limit,
          before,
        });
        seen.push(...page.entries.map(({ action }) => action));
        expect(page.entries.length).toBeLessThanOrEqual(limit);
        before = page.cursor;
        await apply(storage, [], entry('later'));
      } while (before !== null);
      expect(seen.filter((action) => action !== 'later')).toEqual(['9', '8', '7', '6', '5', '4', '3', '2', '1', '0']);
    }
    expect(await actionsOf(storage, { before: 0 })).toEqual([]);
  });

  test('entries stay until they are pruned by name: the oldest first, in bounded steps, up to an instant', async () => {
    const { storage, clock } = setup();
    const old = Array.from({ length: 501 }, (_, i) => entry(`old ${i}`));
    await apply(storage, [{ kind: 'insertKey', key: key('key_1') }], ...old);
    const oldAtMs = clock.nowMs();
    clock.advance(1);
    await apply(storage, [], entry('kept'));
    clock.advance(400 * 86_400_000);
    await storage.ledger.prune();
    expect((await actionsOf(storage, { limit: 600 })).length).toBe(502);
    expect(await storage.auditEntries.prune(oldAtMs - 1)).toBe(true);
    expect(await storage.auditEntries.prune(oldAtMs)).toBe(false);
    expect((await actionsOf(storage, { limit: 600 })).length).toBe(2);
    expect(await storage.auditEntries.prune(oldAtMs)).toBe(true);
    expect(await actionsOf(storage)).toEqual(['kept']);
    // A number is never given twice.
    await storage.auditEntries.prune(clock.nowMs());
    await setup().reopen();
    await apply(setup().storage, [], entry('later'));
    const [newest] = (await setup().storage.records.listEntries(ALL)).entries;
    expect(newest?.number).toBeGreaterThan(502);
  });
});
