import { describe, expect, test } from 'bun:test';

import type { NamespaceRecord, OverrideRecord } from '../../../src/model/overrides.ts';
import { Namespaces, overrideFor } from '../../../src/engine/ratelimits/namespaces.ts';
import type { Records } from '../../../src/storage/port/records.ts';

/** A database whose answers wait until the test lets them go; what they say is from the moment of the question. */
class SlowRecords {
  readonly namespaces = new Map<string, NamespaceRecord>();
  overrides: OverrideRecord[] = [];
  readonly asked: string[] = [];
  #waiting: (() => void)[] = [];

  findNamespace(name: string): Promise<NamespaceRecord | null> {
    return this.#answer(`namespace ${name}`, this.namespaces.get(name) ?? null);
  }

  listAllOverrides(id: string): Promise<readonly OverrideRecord[]> {
    return this.#answer(
      `overrides ${id}`,
      this.overrides.filter(({ namespaceId }) => namespaceId === id),
    );
  }

  /** Lets go what waits now, and waits until it has arrived. */
  async go(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
    for (let i = 0; i < 10; i++) await Promise.resolve();
  }

  #answer<T>(what: string, answer: T): Promise<T> {
    this.asked.push(what);
    return new Promise((resolve) => this.#waiting.push(() => resolve(answer)));
  }
}

const override = (namespaceId: string, identifier: string, limit: number): OverrideRecord => ({
  id: `ovr_${identifier}`,
  namespaceId,
  identifier,
  limit,
  durationMs: 1000,
  async: false,
  createdAtMs: 0,
  updatedAtMs: null,
  revision: 0,
});

function make(): { records: SlowRecords; namespaces: Namespaces } {
  const records = new SlowRecords();
  records.namespaces.set('a', { id: 'ns_a', name: 'a', patternsRevision: 0, createdAtMs: 0 });
  records.overrides = [override('ns_a', 'user', 1)];
  return { records, namespaces: new Namespaces(records as unknown as Records) };
}

async function limitOf(found: ReturnType<Namespaces['find']>): Promise<number | undefined> {
  const entry = await found;
  return entry === null ? undefined : overrideFor(entry, 'user')?.limit;
}

async function load(records: SlowRecords, namespaces: Namespaces): Promise<void> {
  const found = namespaces.find('a');
  await records.go();
  await records.go();
  await found;
}

describe('namespaces in memory', () => {
  test('one is read once for all who wait, and not again while nothing changes', async () => {
    const { records, namespaces } = make();
    const found = Array.from({ length: 5 }, () => limitOf(namespaces.find('a')));
    await records.go();
    await records.go();
    expect(await Promise.all(found)).toEqual([1, 1, 1, 1, 1]);
    expect(await limitOf(namespaces.find('a'))).toBe(1);
    expect(records.asked).toEqual(['namespace a', 'overrides ns_a']);
  });

  test('a change drops it, by its id or by its name', async () => {
    const { records, namespaces } = make();
    for (const [limit, subject] of [
      [2, 'ns_a'],
      [3, 'a'],
    ] as const) {
      await load(records, namespaces);
      records.overrides = [override('ns_a', 'user', limit)];
      namespaces.drop(subject);
      await load(records, namespaces);
      expect(await limitOf(namespaces.find('a'))).toBe(limit);
    }
  });

  test('a change while its overrides are read: who asks afterwards gets the new ones, and the old ones are not kept', async () => {
    const { records, namespaces } = make();
    const before = limitOf(namespaces.find('a'));
    await records.go();
    records.overrides = [override('ns_a', 'user', 2)];
    namespaces.drop('ns_a');
    const after = limitOf(namespaces.find('a'));
    await records.go();
    expect(await before).toBe(1);
    await records.go();
    expect(await after).toBe(2);
    expect(await limitOf(namespaces.find('a'))).toBe(2);
  });

  test('what was read before a change is not kept, also when nobody has asked since', async () => {
    const { records, namespaces } = make();
    const before = limitOf(namespaces.find('a'));
    await records.go();
    records.overrides = [override('ns_a', 'user', 2)];
    namespaces.drop('ns_a');
    await records.go();
    expect(await before).toBe(1);
    await load(records, namespaces);
    expect(await limitOf(namespaces.find('a'))).toBe(2);
  });

  test('a change before its overrides are read is in them', async () => {
    const { records, namespaces } = make();
    const found = limitOf(namespaces.find('a'));
    records.overrides = [override('ns_a', 'user', 2)];
    namespaces.drop('ns_a');
    await records.go();
    await records.go();
    expect(await found).toBe(2);
    expect(records.asked.length).toBe(2);
  });

  test('one that is made while it is looked up is found by who asks afterwards, and none is remembered as missing', async () => {
    const { records, namespaces } = make();
    const before = namespaces.find('b');
    records.namespaces.set('b', { id: 'ns_b', name: 'b', patternsRevision: 0, createdAtMs: 0 });
    namespaces.drop('ns_b');
    namespaces.drop('b');
    const after = namespaces.find('b');
    await records.go();
    await records.go();
    expect([await before, (await after)?.id]).toEqual([null, 'ns_b']);
  });

  test('when anything may have changed, nothing is kept, nor what is being read', async () => {
    const { records, namespaces } = make();
    await load(records, namespaces);
    namespaces.clear();
    const before = limitOf(namespaces.find('a'));
    await records.go();
    records.overrides = [];
    namespaces.clear();
    const after = limitOf(namespaces.find('a'));
    await records.go();
    await records.go();
    expect([await before, await after]).toEqual([1, undefined]);
    expect(await limitOf(namespaces.find('a'))).toBeUndefined();
  });

  test('a change of another one leaves it', async () => {
    const { records, namespaces } = make();
    await load(records, namespaces);
    namespaces.drop('ns_b');
    expect(await limitOf(namespaces.find('a'))).toBe(1);
    expect(records.asked.length).toBe(2);
  });

  test('a failure is told to all who wait, and not kept', async () => {
    const { records, namespaces } = make();
    const working = records.findNamespace.bind(records);
    records.findNamespace = () => Promise.reject(new Error('gone'));
    const found = [namespaces.find('a'), namespaces.find('a')].map((each) =>
      each.catch((error: unknown) => String(error)),
    );
    expect(await Promise.all(found)).toEqual(['Error: gone', 'Error: gone']);
    records.findNamespace = working;
    await load(records, namespaces);
    expect(await limitOf(namespaces.find('a'))).toBe(1);
  });

  test('so many overrides are kept, of all together: those of the namespace that was read first go', async () => {
    const { records, namespaces } = make();
    const names = Array.from({ length: 21 }, (_, i) => `n${i}`);
    for (const name of names)
      records.namespaces.set(name, { id: `ns_${name}`, name, patternsRevision: 0, createdAtMs: 0 });
    records.overrides = names.flatMap((name) =>
      Array.from({ length: 10_000 }, (_, i) => override(`ns_${name}`, `user_${i}`, 1)),
    );
    for (const name of names) {
      const found = namespaces.find(name);
      await records.go();
      await records.go();
      await found;
    }
    const before = records.asked.length;
    await namespaces.find('n1');
    expect(records.asked.length).toBe(before);
    void namespaces.find('n0');
    expect(records.asked.length).toBe(before + 1);
  });

  test('1,001 that are looked up at one time: the last is refused at once', async () => {
    const { records, namespaces } = make();
    const found = Array.from({ length: 1000 }, (_, i) => namespaces.find(`n${i}`));
    const refused = namespaces.find('one more').catch((error: unknown) => String(error));
    expect(await refused).toBe('AppError: Too many namespaces are being looked up in the database. Try again.');
    await records.go();
    expect(await Promise.all(found)).toEqual(found.map(() => null));
  });
});
