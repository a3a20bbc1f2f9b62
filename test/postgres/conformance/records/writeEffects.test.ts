import { describe, expect, setDefaultTimeout, test } from 'bun:test';

import { until } from '../../../../tools/cluster/wait.ts';
import type { RecordChange } from '../../../../src/storage/port/freshness.ts';
import type { PostgresStorage } from '../../../../src/storage/postgres/storage.ts';
import { VirtualClock } from '../../../support/clock.ts';
import { open, postgresServer } from '../postgres.ts';
import { api, entry, key, write } from '../samples.ts';

setDefaultTimeout(60_000);

const DAY_MS = 86_400_000;

interface Pair {
  readonly near: PostgresStorage;
  readonly far: PostgresStorage;
  readonly clock: VirtualClock;
  /** What the far node has heard. */
  readonly heard: readonly RecordChange[];
  readonly query: (sql: string) => Promise<Record<string, unknown>[]>;
}

/** Two nodes on a database of their own. */
async function withPair(work: (pair: Pair) => Promise<void>): Promise<void> {
  const server = await postgresServer();
  const url = await server.createDatabase();
  const clock = new VirtualClock('2026-03-15T12:00:00Z');
  const nodes = [await open(url, clock), await open(url, clock)] as const;
  const heard: RecordChange[] = [];
  nodes[1].freshness.onChange((change) => heard.push(change));
  try {
    const query = (sql: string) => server.query(sql, new URL(url).pathname.slice(1));
    await work({ near: nodes[0], far: nodes[1], clock, heard, query });
  } finally {
    await Promise.all(nodes.map((node) => node.close()));
    await server.dropDatabase(url);
  }
}

const touched = (...keys: string[]): RecordChange => ({
  keys,
  apis: [],
  identities: [],
  plans: [],
  namespaces: [],
  rbac: false,
  rootKeys: false,
});

describe('the table of changes of a PostgreSQL database', () => {
  test('more entries than nodes take in at once, of changes that touch nothing kept, are not heard of', async () => {
    await withPair(async ({ near, heard, query }) => {
      const entries = Array.from({ length: 20 }, (_, i) => entry(`ratelimit.limit ${i}`));
      await Promise.all(Array.from({ length: 60 }, () => near.ledger.apply({ writes: [], accounts: [], entries })));
      await near.ledger.apply({ writes: [{ kind: 'insertApi', api: api('api_1') }], accounts: [], entries });
      await write(near, { kind: 'insertKey', key: key('key_1') });
      await until('the key is heard of', async () => heard.some(({ keys }) => keys === null || keys.length > 0));
      expect(heard).toEqual([touched('digest of key_1')]);
      expect(await query('SELECT count(*)::int AS entries FROM audit_entries')).toEqual([{ entries: 61 * 20 }]);
      expect(await query('SELECT number::int FROM change_counter')).toEqual([{ number: 1 }]);
    });
  });

  test('a change takes one number, however many entries it has', async () => {
    await withPair(async ({ near, heard, query }) => {
      const entries = [entry('identity.create'), entry('role.create'), entry('key.create')];
      const writes = [
        { kind: 'insertKey', key: key('key_1') },
        { kind: 'insertKey', key: key('key_2') },
      ] as const;
      await near.ledger.apply({ writes, accounts: [], entries });
      await until('it is heard of', async () => heard.length > 0);
      expect(heard).toEqual([touched('digest of key_1', 'digest of key_2')]);
      expect(await query('SELECT number::int FROM changes')).toEqual([{ number: 1 }]);
      expect(await query('SELECT action FROM audit_entries ORDER BY number')).toEqual(
        entries.map(({ action }) => ({ action })),
      );
    });
  });

  test('digests do not stay: they are removed with the numbered changes, and the entries have none', async () => {
    await withPair(async ({ near, clock, query }) => {
      const writes = [{ kind: 'insertKey', key: key('key_1') }] as const;
      await near.ledger.apply({ writes, accounts: [], entries: [entry('key.create')] });
      expect(await query('SELECT keys FROM changes')).toEqual([{ keys: ['digest of key_1'] }]);
      clock.advance(3 * DAY_MS);
      await near.ledger.prune();
      expect(await query('SELECT keys FROM changes')).toEqual([]);
      const entries = await query('SELECT * FROM audit_entries');
      expect(entries.length).toBe(1);
      expect(JSON.stringify(entries)).not.toContain('digest of');
    });
  });
});

describe('pruning of a PostgreSQL database', () => {
  test('goes on with everything else when one part fails, and then says so', async () => {
    await withPair(async ({ near, clock, query }) => {
      await write(near, { kind: 'insertKey', key: key('key_1') });
      const endedAtMs = clock.nowMs();
      await query(`INSERT INTO former_secrets VALUES ('digest', 'key_1', ${endedAtMs})`);
      const window = { owner: 'key_1', name: 'requests', durationMs: 60_000 };
      await near.ledger.openWindow(window, null);
      clock.advance(3 * DAY_MS);
      await query('ALTER TABLE local_counts RENAME TO away');
      for (const from of ['changes', 'former_secrets']) {
        expect(await query(`SELECT count(*)::int AS rows FROM ${from}`)).toEqual([{ rows: 1 }]);
      }
      const failure: unknown = await near.ledger.prune().catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: '42P01', message: expect.stringContaining('local_counts') });
      for (const from of ['changes', 'former_secrets', 'adhoc_windows']) {
        expect(await query(`SELECT count(*)::int AS rows FROM ${from}`)).toEqual([{ rows: 0 }]);
      }
    });
  });
});
