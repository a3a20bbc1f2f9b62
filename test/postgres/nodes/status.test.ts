import { expect, test } from 'bun:test';

import { KeystileNode } from '../../../tools/cluster/node.ts';
import { until } from '../../../tools/cluster/wait.ts';
import { LOCATIONS, sharedSetup } from '../../support/cluster/clusterSetup.ts';

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
