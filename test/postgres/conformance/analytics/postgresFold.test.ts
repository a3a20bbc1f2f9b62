import { expect, setDefaultTimeout, test } from 'bun:test';

import { Client } from 'pg';

import { CountColumns } from '../../../../src/core/verificationCounts.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import { VirtualClock } from '../../../support/clock.ts';
import { open, postgresServer } from '../postgres.ts';
import { verificationCount, verdictCounts as counts, verdictCounts } from '../samples.ts';
import { row, sum } from './analyticsQuestions.ts';
import { FORMER_CODES } from '../../../../src/storage/sql/analytics/countColumns.ts';
import { FOLD_LOCK } from '../../../../src/storage/postgres/analytics.ts';
import { migrate, type Migration } from '../../../../src/storage/postgres/schema/migrate.ts';
import { MIGRATIONS } from '../../../../src/storage/postgres/schema/schema.ts';
import { until } from '../../../../tools/cluster/wait.ts';

setDefaultTimeout(60_000);

/** Ends a transaction that adds more than so many rows to a table as a time limit would. */
const refuseMoreThan = (rows: number, table: string): string => `
  CREATE FUNCTION too_many() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF (SELECT count(*) FROM ${table} WHERE xmin = pg_current_xact_id()::xid) > ${rows} THEN
        RAISE EXCEPTION 'too many' USING ERRCODE = '57014';
      END IF;
      RETURN NULL;
    END $$;
  CREATE TRIGGER too_many AFTER INSERT ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION too_many();`;

/** What each step of folding came to, until the end of the round. */
async function foldRound(storage: Storage, afterStep: () => Promise<void> = async () => {}): Promise<string[]> {
  const steps: string[] = [];
  while (steps.at(-1) !== 'end' && steps.length < 50) {
    const step = storage.analytics.fold().then((isEnd) => (isEnd ? 'end' : 'done'));
    steps.push(await step.catch((error: unknown) => (error instanceof Error ? error.name : '')));
    await afterStep();
  }
  return steps;
}

async function withDatabase(work: (storage: Storage, run: (sql: string) => Promise<unknown>) => Promise<void>) {
  const server = await postgresServer();
  const url = await server.createDatabase();
  const storage = await open(url, new VirtualClock('2026-03-15T12:00:00Z'));
  try {
    await work(storage, (sql) => server.query(sql, new URL(url).pathname.slice(1)));
  } finally {
    await storage.close();
    await server.dropDatabase(url);
  }
}

test('a step of folding that takes too long is halved until it does not; nothing is lost or counted twice', async () => {
  await withDatabase(async (storage, run) => {
    await run(refuseMoreThan(260, 'key_uses'));
    const many = Array.from({ length: 6_000 }, (_, i) =>
      verificationCount({ keyId: `key_${String(i).padStart(4, '0')}` }),
    );
    await storage.analytics.add(CountColumns.of(many), 1);
    const steps = await foldRound(storage, async () => {
      expect(await sum(storage, { span: 'day' })).toEqual([row({ counts: counts(6_000) })]);
    });
    // 1,000 and 500 rows are too many, 250 are not.
    expect(steps.slice(0, 3)).toEqual(['StorageUnavailable', 'StorageUnavailable', 'done']);
    expect(steps.at(-1)).toBe('end');
  });
});

test('so is a step of making rows of slices', async () => {
  await withDatabase(async (storage, run) => {
    await run(refuseMoreThan(300, 'verdict_log'));
    for (let batch = 1; batch <= 1_100; batch++)
      await storage.analytics.add(CountColumns.of([verificationCount({ keyId: `key_${batch}` })]), batch);
    const steps = await foldRound(storage);
    // 1,000 and 500 slices are too many, 250 and 300 are not, 350 are.
    expect(steps.slice(0, 5)).toEqual([
      ...Array.from({ length: 2 }, () => 'StorageUnavailable'),
      'done',
      'done',
      'StorageUnavailable',
    ]);
    expect(steps.at(-1)).toBe('end');
    expect(await sum(storage, { span: 'day' })).toEqual([row({ counts: counts(1_100) })]);
  });
});

test('tags that are longer than an index takes, written by an older program, are folded under `other`', async () => {
  await withDatabase(async (storage) => {
    // Of characters that are three bytes each, and that do not compress.
    const letters = Array.from({ length: 1_280 }, (_, i) => String.fromCharCode(0x4e00 + ((i * 7_919) % 20_000)));
    const long = JSON.stringify([letters.join('')]);
    await storage.analytics.add(
      CountColumns.of([verificationCount({ tags: long }), verificationCount({ tags: '["a"]', counts: counts(5) })]),
      1,
    );
    await storage.analytics.add(CountColumns.of([verificationCount({ tags: '["other"]', counts: counts(10) })]), 2);
    expect((await foldRound(storage)).at(-1)).toBe('end');
    for (const keyIds of [null, ['key_1']]) {
      expect(await sum(storage, { span: 'day', keyIds, groupBy: ['tags'] })).toEqual([
        row({ tags: '["a"]', counts: counts(5) }),
        row({ tags: '["other"]', counts: counts(11) }),
      ]);
    }
  });
});

setDefaultTimeout(60_000);

/**
 * PostgreSQL had a column for each code up to schema version 2. Nodes of that version go on beside newer ones: the statements here are theirs.
 */
const HOUR_MS = Date.parse('2026-03-15T12:00:00Z');
const CODES = FORMER_CODES.join(', ');
const SUMS = [...FORMER_CODES, 'credits']
  .map((column) => `coalesce(sum(${column}), 0)::bigint AS ${column}`)
  .join(', ');
const OLDER_READS = {
  ofApi: `SELECT ${SUMS} FROM (SELECT tags, ${CODES}, credits FROM api_counts WHERE span = 1 AND time_ms IN (${HOUR_MS}) AND api_id IN ('api_1')
    UNION ALL SELECT tags, ${CODES}, credits FROM count_log WHERE minute_ms - minute_ms % 3600000 >= 0 AND api_id IN ('api_1')) r`,
  ofKey: `SELECT ${SUMS} FROM (SELECT tags, ${CODES}, credits FROM key_counts WHERE span = 1 AND span > 0 AND api_id = 'api_1' AND key_id IN ('key_1')
    UNION ALL SELECT tags, ${CODES}, credits FROM count_log WHERE api_id = 'api_1' AND key_id IN ('key_1')) r`,
  tags: `SELECT tags FROM api_counts WHERE span = 1 AND time_ms = ${HOUR_MS} AND api_id = 'api_1' AND tags <> '' LIMIT 10`,
};
const KEY = 'span, time_ms, api_id, key_id, identity_id, tags';
const API_KEY = 'span, time_ms, api_id, tags';

async function withFormerDatabase(work: (url: string, older: Client) => Promise<void>): Promise<void> {
  const server = await postgresServer();
  const url = await server.createDatabase();
  const older = new Client(url);
  await older.connect();
  try {
    await migrate(older, { migrations: MIGRATIONS.slice(0, 2), newWorkspaceId: () => 'ws_former', upgrades: true });
    await older.query(`
      INSERT INTO key_counts (${KEY}, ${CODES}, credits) VALUES
        (1, ${HOUR_MS}, 'api_1', 'key_1', 'id_1', '["a"]', 1, 2, 3, 4, 5, 6, 7, 8, 90),
        (1, ${HOUR_MS}, 'api_1', 'key_2', '', '', 0, 0, 0, 0, 0, 0, 0, 0, 7);
      INSERT INTO api_counts (${API_KEY}, ${CODES}, credits) VALUES
        (1, ${HOUR_MS}, 'api_1', '["a"]', 1, 2, 3, 4, 5, 6, 7, 8, 90),
        (1, ${HOUR_MS}, 'api_1', '', 0, 0, 0, 0, 0, 0, 0, 0, 7);
      INSERT INTO count_log (minute_ms, api_id, key_id, identity_id, tags, ${CODES}, credits, last_at_ms) VALUES
        (${HOUR_MS}, 'api_1', 'key_1', '', '', 100, 0, 0, 0, 0, 0, 50, 0, 200, ${HOUR_MS + 5})`);
    await work(url, older);
  } finally {
    await older.end();
    await server.dropDatabase(url);
  }
}

const upgrade = async (url: string, told: string[] = []): Promise<void> => {
  const node = new Client(url);
  await node.connect();
  const tell = (message: string, { table, done }: { table?: unknown; done?: unknown }): void => {
    if (typeof table === 'string' && typeof done === 'string') told.push(`${message}: ${table} ${done}`);
  };
  let goneOn = 0;
  const inTime = (work: (goesOn: () => void) => Promise<void>): Promise<void> => work(() => void goneOn++);
  await migrate(node, { migrations: MIGRATIONS, newWorkspaceId: () => '', upgrades: true, tell, inTime });
  // The time of a migration begins again with each statement that copies.
  expect(goneOn).toBeGreaterThan(2);
  await node.end();
};

const codeOf = (failed: unknown): unknown => (failed as { code?: unknown }).code;

test('each count becomes a row with the number of its code, and progress is told', async () => {
  await withFormerDatabase(async (url, older) => {
    const told: string[] = [];
    await upgrade(url, told);
    const rows = async (sql: string) => (await older.query({ text: sql, rowMode: 'array' })).rows;
    expect(await rows(`SELECT key_id, tags, code, count, credits FROM key_verdicts ORDER BY key_id, code`)).toEqual([
      ...[1, 2, 3, 4, 5, 6, 7, 8].map((n, code) => ['key_1', '["a"]', code, String(n), code === 0 ? '90' : '0']),
      ['key_2', '', 0, '0', '7'],
    ]);
    expect(await rows(`SELECT tags, sum(count), sum(credits) FROM api_verdicts GROUP BY tags ORDER BY tags`)).toEqual([
      ['', '0', '7'],
      ['["a"]', '36', '90'],
    ]);
    expect(await rows(`SELECT code, count, credits, last_at_ms FROM verdict_log ORDER BY code`)).toEqual([
      [0, '100', '200', String(HOUR_MS + 5)],
      [6, '50', '0', String(HOUR_MS + 5)],
    ]);
    expect(told).toEqual(['key_verdicts', 'api_verdicts'].map((table) => `migrating the database: ${table} 100 %`));
  });
});

test('a node of the version before is answered as before, also what newer nodes have counted and not folded yet', async () => {
  await withFormerDatabase(async (url, older) => {
    const answers = async (): Promise<unknown> => [
      (await older.query({ name: 'ofApi', text: OLDER_READS.ofApi })).rows,
      (await older.query({ name: 'ofKey', text: OLDER_READS.ofKey })).rows,
      (await older.query({ name: 'tags', text: OLDER_READS.tags })).rows,
    ];
    // Prepared by then, as a node has them.
    const before = await answers();
    await upgrade(url);
    expect(await answers()).toEqual(before);
    const newer = await open(url, new VirtualClock('2026-03-15T12:30:00Z'));
    try {
      await newer.analytics.add(
        CountColumns.of([
          verificationCount({ apiId: 'api_1', keyId: 'key_1', minuteMs: HOUR_MS, counts: verdictCounts(1_000) }),
        ]),
        1,
      );
      while (!(await newer.analytics.fold()));
      const [[ofApi], [ofKey]] = (await answers()) as [[{ valid: string }], [{ valid: string }]];
      expect([ofApi.valid, ofKey.valid]).toEqual(['1101', '1101']);
    } finally {
      await newer.close();
    }
  });
});

test('a node of the version before leaves the fold to newer ones, as where another node folds: nothing is lost or added twice', async () => {
  await withFormerDatabase(async (url, older) => {
    await upgrade(url);
    const LOG = `SELECT number, minute_ms, ${CODES} FROM count_log WHERE (key_id, number) > ('', 0) ORDER BY key_id, number LIMIT 1000`;
    const INSERT = `INSERT INTO count_log (minute_ms, api_id, key_id, identity_id, tags, last_at_ms, ${CODES}, credits)
      VALUES (1, 'api_1', 'key_1', '', '', 1, 1, 0, 0, 0, 0, 0, 0, 0, 0)`;
    for (const statement of [LOG, INSERT])
      expect(codeOf(await older.query(statement).catch((error: unknown) => error))).toBe('40001');
    const pruned = await older.query(
      `DELETE FROM key_counts WHERE (${KEY}) IN (SELECT ${KEY} FROM key_counts WHERE span = 1 AND time_ms < $1 LIMIT 1000)`,
      [HOUR_MS + 1],
    );
    expect(pruned.rowCount).toBe(0);
    const { rows } = await older.query(
      'SELECT (SELECT count(*) FROM verdict_log)::int AS log, (SELECT count(*) FROM key_verdicts)::int AS sums',
    );
    expect(rows).toEqual([{ log: 2, sums: 9 }]);
    // Without rows in the log, its fold is at the end.
    await older.query('DELETE FROM verdict_log');
    expect((await older.query(LOG)).rows).toEqual([]);
  });
});

const upgradeBy = (
  url: string,
  migrations: readonly Migration[],
  told: string[] = [],
  triesAfterCopy = 1_000,
): Promise<void> =>
  withClient(url, (client) =>
    migrate(client, {
      migrations,
      newWorkspaceId: () => '',
      upgrades: true,
      patience: { lockTimeoutMs: 50, tries: 1, pauseMs: 1, triesAfterCopy },
      tell: (message) => void told.push(message),
    }),
  );

async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The migration of counts, with something that happens after its copy. */
function afterCopy(happens: () => Promise<unknown>): Migration[] {
  const [last] = MIGRATIONS.slice(-1);
  if (last?.moveRows === undefined) throw new Error('the last migration moves no rows');
  const { copy, sqlAfter } = last.moveRows;
  const moveRows = {
    sqlAfter,
    copy: async (...given: Parameters<typeof copy>) => (await copy(...given), void (await happens())),
  };
  return [...MIGRATIONS.slice(0, -1), { ...last, moveRows }];
}

test('a table that is read when the rows are copied is waited for, and the rows are not copied again', async () => {
  await withFormerDatabase(async (url, older) => {
    let copies = 0;
    const told: string[] = [];
    const read = async (): Promise<void> => {
      copies++;
      await older.query('BEGIN; SELECT count(*) FROM key_counts');
    };
    const done = upgradeBy(url, afterCopy(read), told);
    await until('it has waited', () => told.filter((each) => each.includes('keeps its tables locked')).length > 2);
    await older.query('COMMIT');
    await done;
    expect(copies).toBe(1);
    expect((await older.query('SELECT count(*)::int AS rows FROM key_verdicts')).rows).toEqual([{ rows: 9 }]);
  });
});

test('a table that is read for ever undoes the migration, and says who hinders it', async () => {
  await withFormerDatabase(async (url, older) => {
    const read = (): Promise<unknown> => older.query('BEGIN; SELECT count(*) FROM key_counts');
    const failed = await upgradeBy(url, afterCopy(read), [], 2).catch(String);
    expect(failed).toContain('kept its tables locked during 2 tries of 50 ms. Start again when it has ended.');
    await older.query('COMMIT');
    expect((await older.query('SELECT count(*)::int AS rows FROM key_counts')).rows).toEqual([{ rows: 2 }]);
  });
});

test('no older node folds between the copy and its end: what it folds then would be lost', async () => {
  await withFormerDatabase(async (url, older) => {
    const taken: unknown[] = [];
    const tryToFold = async (): Promise<void> => {
      taken.push(...(await older.query('SELECT pg_try_advisory_xact_lock($1) AS is_mine', [FOLD_LOCK])).rows);
    };
    await upgradeBy(url, afterCopy(tryToFold));
    expect(taken).toEqual([{ is_mine: false }]);
  });
});

test('columns are added after the copy: until then keys are read', async () => {
  await withFormerDatabase(async (url, older) => {
    const read = (): Promise<unknown> => older.query('SET lock_timeout = 1000; SELECT id FROM keys');
    const [last] = afterCopy(read).slice(-1);
    const columns = 'LOCK TABLE keys, identities, apis, changes; ALTER TABLE keys ADD COLUMN label text';
    await upgradeBy(url, [...MIGRATIONS.slice(0, -1), { ...(last as Migration), columns }]);
    expect((await older.query('SELECT label FROM keys')).rows).toEqual([]);
  });
});

test('a view on a former table is told before anything is copied', async () => {
  await withFormerDatabase(async (url, older) => {
    await older.query('CREATE VIEW mine AS SELECT key_id, valid FROM key_counts');
    let copies = 0;
    const failed = await upgradeBy(
      url,
      afterCopy(async () => copies++),
    ).catch(String);
    expect(failed).toContain('cannot drop table former_key_counts because other objects depend on it');
    expect(copies).toBe(0);
    expect((await older.query('SELECT count(*)::int AS rows FROM key_counts')).rows).toEqual([{ rows: 2 }]);
  });
});

test('a failure after the copy leaves everything as it was, and the next start goes through', async () => {
  await withFormerDatabase(async (url, older) => {
    const failed = await upgradeBy(
      url,
      afterCopy(() => Promise.reject(new Error('cut'))),
    ).catch(String);
    expect(failed).toContain('cut');
    expect((await older.query('SELECT count(*)::int AS rows FROM key_counts')).rows).toEqual([{ rows: 2 }]);
    await upgrade(url);
    expect((await older.query('SELECT count(*)::int AS rows FROM key_verdicts')).rows).toEqual([{ rows: 9 }]);
  });
});

test('a role that does not own the tables keeps its rights on what takes their place', async () => {
  await withFormerDatabase(async (url, older) => {
    const role = `nodes_${crypto.randomUUID().replaceAll('-', '')}`;
    await older.query(`CREATE ROLE ${role}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role};
      GRANT SELECT ON key_counts TO PUBLIC`);
    await upgrade(url);
    const { rows } = await older.query({
      text: `SELECT name, has_table_privilege('${role}', name, 'DELETE'), has_table_privilege('public', name, 'SELECT')
        FROM unnest(ARRAY['key_counts', 'api_counts', 'count_log', 'key_verdicts', 'api_verdicts', 'verdict_log']) AS t (name)`,
      rowMode: 'array',
    });
    expect(rows).toEqual([
      ['key_counts', true, true],
      ['api_counts', true, false],
      ['count_log', true, false],
      ['key_verdicts', true, true],
      ['api_verdicts', true, false],
      ['verdict_log', true, false],
    ]);
    await older.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });
});
