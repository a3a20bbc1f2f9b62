import { describe, expect, test } from 'bun:test';

import { Client } from 'pg';

import { TcpProxy } from '../../../tools/cluster/proxy.ts';
import { until } from '../../../tools/cluster/wait.ts';
import { BANNER_END, Child, runToEnd } from '../../process/process.ts';
import { openStorage, sharedServer } from '../../support/cluster/faultLab.ts';

/** Eight at once; what they agree upon, and what they made. */
async function openEight(url: string) {
  const server = await sharedServer();
  const database = new URL(url).pathname.slice(1);
  const opened = await Promise.allSettled(Array.from({ length: 8 }, () => openStorage(url)));
  const storages = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const failures = opened.flatMap((each) => (each.status === 'rejected' ? [String(each.reason)] : []));
  await Promise.all(storages.map((storage) => storage.close()));
  const installed = await server.query(
    `SELECT name FROM installation WHERE name LIKE 'schema%' OR name LIKE 'ws%'`,
    database,
  );
  const counters = await server.query('SELECT number FROM change_counter', database);
  return {
    failures,
    workspaces: new Set(storages.map(({ workspaceId }) => workspaceId)).size,
    installed: installed.length,
    counters: counters.length,
  };
}

/** As a node does that brings the schema to its version: the others wait. Answers how to let go. */
async function holdMigrations(url: string): Promise<() => Promise<void>> {
  const client = new Client(url);
  await client.connect();
  await client.query('SELECT pg_advisory_lock(7218530411)');
  return () => client.end();
}

async function waitingIn(url: string): Promise<number> {
  const database = new URL(url).pathname.slice(1);
  const waiting = `SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event = 'advisory' AND datname = '${database}'`;
  const [row] = await (await sharedServer()).query(waiting);
  return Number(row?.['n']);
}

const AS_ONE = { failures: [], workspaces: 1, installed: 3, counters: 1 };

describe('nodes that are started together on an empty database', () => {
  test('eight: all come up, on one schema and as one installation', async () => {
    const server = await sharedServer();
    const url = await server.createDatabase();
    expect(await openEight(url)).toEqual(AS_ONE);
    expect(await openEight(url)).toEqual(AS_ONE);
  });

  test('eight, where the database begins its transactions as serializable', async () => {
    const server = await sharedServer();
    const url = await server.createDatabase();
    const database = new URL(url).pathname.slice(1);
    await server.query(`ALTER DATABASE ${database} SET default_transaction_isolation = 'serializable'`);
    expect(await openEight(url)).toEqual(AS_ONE);
  });

  test('three processes on terminals, without a root key of their own, print one in total', async () => {
    const server = await sharedServer();
    // Some way off: all three look whether there is a root key before one of them could have made it.
    using proxy = TcpProxy.start({ target: server.port, delayMs: 40 });
    const url = await server.createDatabase();
    const letGo = await holdMigrations(url);
    const settings = { KEYSTILE_DATABASE_URL: url.replace(server.hostPort, proxy.hostPort) };
    const nodes = Array.from({ length: 3 }, () => new Child({ settings, onTerminal: true }));
    try {
      await until('all three stand at the start', async () => (await waitingIn(url)) === nodes.length);
      await letGo();
      await Promise.all(nodes.map((node) => node.printed(BANNER_END)));
      const printed = nodes.flatMap(({ stdout }) => stdout.match(/^ {2}Root key +root_\S+ +shown this once$/m) ?? []);
      expect(printed.length).toBe(1);
      const others = nodes.filter(({ stdout }) => /^ {2}Root key +1 root key; /m.test(stdout));
      expect(others.length).toBe(2);
      const secret = /root_\S+/.exec(printed[0] ?? '')?.[0] ?? '';
      for (const { stdout } of nodes) {
        const api = /^ {2}API +(http:\S+)/m.exec(stdout)?.[1] ?? '';
        const answer = await fetch(`${api}/v1/apis.listApis`, { headers: { authorization: `Bearer ${secret}` } });
        expect(answer.status).toBe(200);
      }
    } finally {
      for (const node of nodes) await node[Symbol.asyncDispose]();
    }
  });

  test('without a terminal and a root key the start asks for one, and makes none', async () => {
    const server = await sharedServer();
    const settings = { KEYSTILE_DATABASE_URL: await server.createDatabase() };
    const refused = await runToEnd({ settings });
    expect([refused.code, refused.stdout]).toEqual([78, '']);
    expect(refused.stderr).toMatch(
      /^The database has no root key yet\. .* Set KEYSTILE_ROOT_KEY or KEYSTILE_ROOT_KEY_FILE .*keystile root-key create\n$/,
    );
    const rootKey = 'root_given_to_the_first_of_many_nodes';
    {
      await using given = new Child({ settings: { ...settings, KEYSTILE_ROOT_KEY: rootKey } });
      await given.printed(/^ {2}Root key +1 root key; /m);
    }
    // From then on it is not asked for any more.
    await using later = new Child({ settings });
    await later.printed(/^ {2}Root key +1 root key; /m);
    expect(later.stdout).not.toContain(rootKey);
  });
});
