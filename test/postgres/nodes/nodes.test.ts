import { expect, test } from 'bun:test';

import { KeystileNode } from '../../../tools/cluster/node.ts';
import { until } from '../../../tools/cluster/wait.ts';
import { keystile } from '../../process/cli/cliRun.ts';
import { LOCATIONS, type Setup, sharedSetup } from '../../support/cluster/clusterSetup.ts';
import { SCHEMA_VERSION } from '../../../src/storage/postgres/schema/schema.ts';
import { FaultLab } from '../../support/cluster/faultLab.ts';

interface Listed {
  readonly id: string;
  readonly location: string;
  readonly seenAtMs: number;
  readonly isGone: boolean;
}

async function run(setup: Setup, ...words: string[]): Promise<string> {
  const { code, out, err } = await keystile(words, {
    environment: { KEYSTILE_DATABASE_URL: setup.postgres.url(), KEYSTILE_ALLOW_FSYNC_OFF: 'on' },
  });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
}

/** By location: here each has one node. */
async function listed(setup: Setup): Promise<Map<string, Listed>> {
  const { nodes } = JSON.parse(await run(setup, 'nodes', '--json')) as { nodes: Listed[] };
  return new Map(nodes.map((node) => [node.location, node]));
}

const isSeen = async (setup: Setup, location: string, sinceMs: number): Promise<boolean> => {
  const [row] = await setup.postgres.query(`SELECT seen_at_ms FROM nodes WHERE location = '${location}'`);
  return Number(row?.['seen_at_ms']) >= sinceMs;
};

test('keystile nodes shows every location; a stopped node leaves the list, a killed one is not seen any more', async () => {
  const setup = await sharedSetup();
  const startIn = (location: string) => KeystileNode.start({ databaseUrl: setup.postgres.url(), location });
  const [stopped, killed] = await Promise.all([startIn('stopped'), startIn('killed')]);
  await using started = new AsyncDisposableStack();
  for (const node of [stopped, killed]) started.use(node);
  // A node is there for the others before it answers anyone: who was alone tells it the local counts.
  expect(await setup.postgres.query(`SELECT 1 AS found FROM nodes WHERE location = 'stopped'`)).toEqual([{ found: 1 }]);
  expect([...(await listed(setup)).keys()]).toEqual([...LOCATIONS, 'killed', 'stopped'].sort());

  expect(await stopped.stop()).toBe(0);
  expect([...(await listed(setup)).keys()]).toEqual([...LOCATIONS, 'killed'].sort());

  await killed.kill();
  const before = await listed(setup);
  // The other node was last seen up to 1.1 s ago: after this the killed one would have been seen once more.
  const sinceMs = (before.get('eu')?.seenAtMs ?? NaN) + 2_500;
  await until('the other node is seen again', () => isSeen(setup, 'eu', sinceMs));
  expect((await listed(setup)).get('killed')).toEqual({ ...(before.get('killed') as Listed), isGone: false });

  // Ten seconds of silence, without waiting for them.
  await setup.postgres.query(`UPDATE nodes SET seen_at_ms = seen_at_ms - 10000 WHERE location = 'killed'`);
  const gone = [...(await listed(setup)).values()].map(({ location, isGone }) => ({ location, isGone }));
  expect(gone).toEqual(
    [...LOCATIONS, 'killed'].sort().map((location) => ({ location, isGone: location === 'killed' })),
  );
  expect(await run(setup, 'nodes')).toMatch(/^killed .* \d+ s ago, gone /m);

  // One that is not coming back is forgotten, and no other.
  const id = before.get('killed')?.id ?? '';
  expect(JSON.parse(await run(setup, 'nodes', 'forget', id, '--json'))).toEqual({ forgotten: id });
  expect([...(await listed(setup)).keys()]).toEqual([...LOCATIONS].sort());
});

test('a node that was seen a moment ago is not forgotten, and one that nobody knows is told', async () => {
  const setup = await sharedSetup();
  const forget = (id: string) =>
    keystile(['nodes', 'forget', id], {
      environment: { KEYSTILE_DATABASE_URL: setup.postgres.url(), KEYSTILE_ALLOW_FSYNC_OFF: 'on' },
    });
  const alive = (await listed(setup)).get('eu')?.id ?? '';
  expect(await forget(alive)).toEqual({
    code: 1,
    out: '',
    err: `The node "${alive}" was seen within the last 10 seconds. Nothing was changed. Stop it: a node that stops leaves the list by itself.\n`,
  });
  expect(await forget('node_unknown')).toEqual({
    code: 1,
    out: '',
    err: 'There is no node "node_unknown" in the list. Nothing was changed. keystile nodes shows the list.\n',
  });
  expect([...(await listed(setup)).keys()]).toEqual([...LOCATIONS].sort());
});

interface Status {
  readonly nodes: readonly {
    readonly location: string;
    readonly isSelf: boolean;
    readonly isGone: boolean;
    readonly freshnessAgeMs?: number;
  }[];
  readonly problems: readonly { readonly name: string; readonly text: string }[];
}

test('every node tells of all nodes, and one that was killed is a problem', async () => {
  const setup = await sharedSetup();
  const read = async (node: number) => (await setup.ok(node, '/v1/service.getStatus', {})) as unknown as Status;
  await using killed = await KeystileNode.start({ databaseUrl: setup.postgres.url(), location: 'killed' });
  await until('the new node is in the list', async () => (await read(0)).nodes.length === LOCATIONS.length + 1);
  for (const [place, location] of LOCATIONS.entries()) {
    const { nodes, problems } = await read(place);
    expect(nodes.map((each) => each.location)).toEqual([...LOCATIONS, 'killed'].sort());
    expect(nodes.filter(({ isSelf }) => isSelf).map((each) => each.location)).toEqual([location]);
    expect(nodes.every(({ freshnessAgeMs }) => freshnessAgeMs !== undefined)).toBe(true);
    expect(problems.filter(({ name }) => name === 'nodes')).toEqual([]);
  }
  await killed.kill();
  // It is gone when it was not seen for ten seconds. The row is made older, instead of waiting.
  await setup.postgres.query(`UPDATE nodes SET seen_at_ms = seen_at_ms - 20000 WHERE location = 'killed'`);
  await until('it is gone', async () => (await read(1)).nodes.some(({ isGone }) => isGone));
  const { nodes, problems } = await read(1);
  expect(nodes.filter(({ isGone }) => isGone).map((each) => each.location)).toEqual(['killed']);
  expect(problems.find(({ name }) => name === 'nodes')?.text).toContain('killed');
  await setup.postgres.query(`DELETE FROM nodes WHERE location = 'killed'`);
});

test('a node that serves is in the list of nodes with its schema version as soon as the database is open, a command never', async () => {
  await using lab = await FaultLab.start();
  await lab.open({ node: 'node_serving', version: '1.2.3' });
  await lab.open({ node: 'node_command', upgrades: false });
  expect(await lab.query('SELECT id, version, schema_version FROM nodes')).toEqual([
    { id: 'node_serving', version: '1.2.3', schema_version: String(SCHEMA_VERSION) },
  ]);
});

test('a node hears at its next sign of life that the database was migrated past it, and not before', async () => {
  await using lab = await FaultLab.start();
  const told: string[] = [];
  const node = await lab.open({ onOutdated: ({ message }) => void told.push(message) });
  const migrated = (version: number, compatibleFrom: number): Promise<unknown> =>
    lab.query(
      `UPDATE installation SET value = CASE name WHEN 'schema_version' THEN '${version}' ELSE '${compatibleFrom}' END
        WHERE name IN ('schema_version', 'schema_compatible_from')`,
    );
  await node.sayHello(null);
  await migrated(SCHEMA_VERSION + 1, SCHEMA_VERSION);
  await node.sayHello(null);
  expect(told).toEqual([]);
  await migrated(SCHEMA_VERSION + 2, SCHEMA_VERSION + 1);
  await node.sayHello(null);
  expect(told).toEqual([
    `The database has schema version ${SCHEMA_VERSION + 2}, which needs a program for version ${SCHEMA_VERSION + 1} or newer; this one is for ${SCHEMA_VERSION}. Start the newer program that migrated it.`,
  ]);
});
