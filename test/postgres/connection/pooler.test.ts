import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import type { PostgresServer } from '../../../tools/cluster/postgres.ts';
import { until } from '../../../tools/cluster/wait.ts';
import { parseAddress } from '../../../src/core/databaseUrl.ts';
import { Connector } from '../../../src/storage/postgres/connection/connector.ts';
import { POOLED } from '../../../src/storage/postgres/connection/ownSession.ts';
import { openForData } from '../../../src/storage/postgres/move.ts';
import { examined } from '../../process/cli/doctorRun.ts';
import { VirtualClock } from '../../support/clock.ts';
import { openStorage, sharedServer } from '../../support/cluster/faultLab.ts';
import { FaultNode, type NodeAnswer } from '../../support/cluster/faultNode.ts';
import { type Lends, Pooler, type PoolerOptions } from '../../support/cluster/pooler.ts';
import { runToEnd } from '../../process/process.ts';

let server: PostgresServer;

beforeAll(async () => {
  server = await sharedServer();
});

/** Commits in sessions without settings of their own are reported before they are on disk. */
async function newDatabase(): Promise<string> {
  const url = await server.createDatabase();
  await server.query(`ALTER DATABASE ${nameOf(url)} SET synchronous_commit = off`);
  return url;
}

const nameOf = (url: string): string => new URL(url).pathname.slice(1);

function pooler(options: Omit<PoolerOptions, 'target'>): Promise<Pooler> {
  return Pooler.start({ target: server.port, ...options });
}

const LENDS: readonly Lends[] = ['the latest', 'the longest free'];
const KINDS = LENDS.flatMap((lends) => [0, 1, 2, 3, 5].map((spare) => [lends, spare] as const));

describe('a start by way of a pooler in transaction mode is refused, and leaves nothing behind', () => {
  test.concurrent.each(KINDS)('it lends %s of its sessions, and has %p others', async (lends, spare) => {
    const url = await newDatabase();
    using between = await pooler({ isByTransaction: true, lends, spare });
    expect(await openStorage(between.through(url)).catch(String)).toBe(`WrongServer: ${POOLED}`);
    expect(await server.query(`SELECT 1 FROM pg_tables WHERE schemaname = 'public'`, nameOf(url))).toEqual([]);
  });

  test.concurrent('the process ends with code 78 and one sentence that names the pooler', async () => {
    using between = await pooler({ isByTransaction: true });
    const KEYSTILE_DATABASE_URL = between.through(await newDatabase());
    const { code, stdout, stderr } = await runToEnd({ settings: { KEYSTILE_DATABASE_URL } });
    expect([code, stdout, stderr]).toEqual([78, '', `${POOLED}\n`]);
    expect(POOLED).toContain('pooler in transaction');
    expect(POOLED).toContain('pool_mode = session');
  });

  test.concurrent('commands on data are refused as well, and the doctor names the cause', async () => {
    const url = await newDatabase();
    await (await openStorage(url)).close();
    using between = await pooler({ isByTransaction: true });
    expect(await openForData(between.through(url)).catch(String)).toBe(`WrongServer: ${POOLED}`);
    const found = await examined({ KEYSTILE_DATABASE_URL: between.through(url), KEYSTILE_METRICS_PORT: '0' });
    expect(found.find('database')).toMatchObject({
      result: 'problem',
      text: `A node cannot use the database: ${POOLED}`,
      fix: expect.stringContaining('pool_mode = session'),
    });
  });
});

test.concurrent('a server that refuses how a connection begins is refused for good: code 78, with what to do', async () => {
  const message = 'unsupported startup parameter: application_name';
  const body = Buffer.from(`SFATAL\0C08P01\0M${message}\0\0`);
  const head = Buffer.from([0x45, 0, 0, 0, body.length + 4]);
  using refusing = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data: (socket) => void socket.end(Buffer.concat([head, body])) },
  });
  const KEYSTILE_DATABASE_URL = `postgres://postgres@127.0.0.1:${refusing.port}/postgres`;
  const { code, stderr } = await runToEnd({ settings: { KEYSTILE_DATABASE_URL } });
  expect([code, stderr]).toEqual([78, expect.stringContaining(`(${message} [08P01])`)]);
  expect(stderr).toContain('ignore_startup_parameters');
});

test('settings of a connection hold for its whole session, and none is sent with its start', async () => {
  const settings = { lock_timeout: '1234', default_transaction_isolation: 'repeatable read' };
  const client = await new Connector(parseAddress(server.url()), 'node').connect(settings);
  const names = [...Object.keys(settings), 'synchronous_commit', 'idle_in_transaction_session_timeout'];
  const { rows } = await client.query(
    'SELECT name, setting, source FROM pg_settings WHERE name = ANY ($1) ORDER BY 1',
    [names],
  );
  await client.end();
  expect(rows).toEqual([
    { name: 'default_transaction_isolation', setting: 'repeatable read', source: 'session' },
    { name: 'idle_in_transaction_session_timeout', setting: '5000', source: 'session' },
    { name: 'lock_timeout', setting: '1234', source: 'session' },
    { name: 'synchronous_commit', setting: 'on', source: 'session' },
  ]);
});

test('a session counts as foreign for a minute after it was met', () => {
  const connector = new Connector(parseAddress(server.url()), 'node');
  expect(connector.meetsForeignSessions(0)).toBe(false);
  connector.noteForeignSession(5_000);
  expect([64_999, 65_000].map((nowMs) => connector.meetsForeignSessions(nowMs))).toEqual([true, false]);
});

type Key = Awaited<ReturnType<FaultNode['createKey']>>;

/** Tables that are written without a wait for the disk by design: what they hold is not missed after a crash. */
const UNLOGGED = ['nodes', 'local_counts'];

describe('a pooler that turns to transaction mode while a node uses it', () => {
  const CREDITS = 100_000;
  const ROUNDS = 10;
  let url = '';
  let between: Pooler;
  let node: FaultNode;
  let sold: readonly Key[] = [];
  let changed: Key;
  const clock = new VirtualClock(0);

  beforeAll(async () => {
    url = await newDatabase();
    between = await pooler({ lends: 'the longest free', spare: 3, resetsEvery: 3 });
    node = await FaultNode.start({
      url: between.through(url),
      settings: { KEYSTILE_STALE_MAX: '1h' },
      monotonicMs: () => performance.now() + clock.nowMs(),
    });
    // Each table notes how the commits are made that write to it.
    await server.query(
      `CREATE TABLE commits (name text, waits text);
       CREATE FUNCTION note_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         INSERT INTO commits VALUES (TG_TABLE_NAME, current_setting('synchronous_commit')); RETURN NULL; END $$;
       DO $$ DECLARE name text; BEGIN
         FOR name IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
           AND relname NOT IN ('commits', ${UNLOGGED.map((each) => `'${each}'`).join()}) LOOP
           EXECUTE format('CREATE TRIGGER noted AFTER INSERT OR UPDATE OR DELETE ON %I FOR EACH STATEMENT EXECUTE FUNCTION note_commit()', name);
         END LOOP; END $$`,
      nameOf(url),
    );
  });

  afterAll(async () => {
    await node?.[Symbol.asyncDispose]();
    between?.[Symbol.dispose]();
    await server.dropDatabase(url);
  });

  const commits = () =>
    server.query('SELECT name, waits, count(*)::int AS times FROM commits GROUP BY 1, 2 ORDER BY 1', nameOf(url));
  const balanceOf = async (keys: readonly Key[]): Promise<number> => {
    const [row] = await server.query(
      `SELECT sum(value)::int AS balance FROM accounts a JOIN keys k ON k.credits_account = a.id
        WHERE k.id IN (${keys.map(({ keyId }) => `'${keyId}'`).join()})`,
      nameOf(url),
    );
    return Number(row?.['balance']);
  };

  const newKeys = (count: number): Promise<Key[]> =>
    Promise.all(Array.from({ length: count }, () => node.createKey({ remaining: CREDITS })));

  /** Each spends one credit: by a plain batch, and by general ones. */
  const spends = ([plain, general]: readonly Key[]): Promise<NodeAnswer>[] => [
    node.verify(plain?.key ?? ''),
    node.verify(general?.key ?? '', { idempotencyKey: crypto.randomUUID() }),
    node.verify(general?.key ?? '', {
      ratelimits: [{ name: crypto.randomUUID(), limit: 5, duration: 60_000, async: false }],
    }),
  ];

  /** By each kind of transaction. */
  const changes = ({ key, keyId }: Key): Promise<NodeAnswer>[] => [
    node.call('/v1/keys.updateKey', { keyId, name: crypto.randomUUID() }),
    node.call('/v1/reservations.create', { key, cost: 1, ttlMs: 60_000 }),
  ];

  test('in session mode everything works', async () => {
    [changed, ...sold] = (await newKeys(3)) as [Key, ...Key[]];
    // The first spend of a day is never plain.
    for (let i = 0; i < 2; i++)
      for (const answer of await Promise.all([...spends(sold), ...changes(changed)])) expect(answer.status).toBe(200);
    expect(new Set((await commits()).map(({ waits }) => waits))).toEqual(new Set(['on']));
    expect(await node.readiness()).toMatchObject({ status: 200, body: { ready: true, reasons: [] } });
  });

  test('no commit is made in a session of others, nothing is charged that is not answered; the node is not ready and says why', async () => {
    const before = await balanceOf(sold);
    const local = await node.createKey({ ratelimit: { async: true, limit: 1_000_000, duration: 60_000 } });
    expect((await node.verify(local.key)).valid).toBe(true);
    between.isByTransaction = true;
    let [valid, refused, unknown] = [0, 0, 0];
    for (let round = 0; round < ROUNDS; round++) {
      const asked = spends(sold);
      await Promise.allSettled([...changes(changed), node.storage.sayHello(null)]);
      for (const answer of await Promise.all(asked)) {
        if (answer.status === 503) refused++;
        if (answer.valid) valid++;
        if (answer.code === 'OUTCOME_UNKNOWN') unknown++;
      }
    }
    expect(refused).toBeGreaterThan(0);
    const charged = before - (await balanceOf(sold));
    expect(charged).toBeWithin(valid, valid + unknown + 1);
    expect((await commits()).filter(({ waits }) => waits !== 'on')).toEqual([]);
    for (const target of ['/v1/readiness', '/v1/readiness?for=exact'])
      expect(await node.readiness(target)).toMatchObject({ status: 503, body: { ready: false, reasons: [POOLED] } });
    expect((await node.composed.readHealth()).checks['database']).toBe('problem');
    // What needs no database is answered as before.
    expect((await node.verify(local.key)).valid).toBe(true);
  });

  test('when it has its sessions again for a minute, the node is ready', async () => {
    between.isByTransaction = false;
    await until('its connections are their own', async () => {
      clock.advance(60_000);
      await node.storage.freshness.confirm().catch(() => {});
      return (await node.readiness('/v1/readiness?for=exact')).status === 200;
    });
    // Connections that nobody has used since are found when they are.
    await until('every connection is its own', async () => {
      const answers = await Promise.all([...spends(sold), ...changes(changed)]);
      return answers.every(({ status }) => status === 200);
    });
    expect((await commits()).filter(({ waits }) => waits !== 'on')).toEqual([]);
  });
});
