import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { until } from '../../tools/cluster/wait.ts';
import { keystile } from '../process/cliRun.ts';
import { LOCATIONS, Setup } from '../support/cluster/clusterSetup.ts';

interface Listed {
  readonly id: string;
  readonly location: string;
  readonly seenAtMs: number;
  readonly isGone: boolean;
}

let setup: Setup;

beforeAll(async () => {
  setup = await Setup.start();
});

afterAll(async () => {
  await setup[Symbol.asyncDispose]();
});

async function run(...words: string[]): Promise<string> {
  const { code, out, err } = await keystile(words, {
    environment: { KEYSTILE_DATABASE_URL: setup.postgres.url(), KEYSTILE_ALLOW_FSYNC_OFF: 'on' },
  });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
}

/** By location: here each has one node. */
async function listed(): Promise<Map<string, Listed>> {
  const { nodes } = JSON.parse(await run('nodes', '--json')) as { nodes: Listed[] };
  return new Map(nodes.map((node) => [node.location, node]));
}

async function seenAtMs(location: string): Promise<number> {
  return (await listed()).get(location)?.seenAtMs ?? NaN;
}

describe('keystile nodes', () => {
  test('shows the three locations; a stopped node leaves the list, a killed one is not seen any more', async () => {
    expect([...(await listed()).keys()]).toEqual([...LOCATIONS].sort());
    const [eu, us, ap] = LOCATIONS;
    expect(await setup.node(2).stop()).toBe(0);
    expect([...(await listed()).keys()]).toEqual([eu, us]);
    expect((await listed()).has(ap)).toBe(false);
    // It is there for the others before it answers anyone: who was alone tells it the local counts.
    await setup.startAgain(2);
    expect(await setup.postgres.query(`SELECT 1 AS found FROM nodes WHERE location = '${ap}'`)).toEqual([{ found: 1 }]);
    expect(await setup.node(2).stop()).toBe(0);

    await setup.node(1).kill();
    const lastSeenMs = await seenAtMs(us);
    const fromMs = await seenAtMs(eu);
    // It was last seen up to 1.1 s ago: after this the killed one would have been seen once more.
    await until('the other node is seen again', async () => (await seenAtMs(eu)) >= fromMs + 2_500);
    expect(await seenAtMs(us)).toBe(lastSeenMs);
    expect((await listed()).get(us)?.isGone).toBe(false);

    // Ten seconds of silence, without waiting for them.
    await setup.postgres.query(`UPDATE nodes SET seen_at_ms = seen_at_ms - 10000 WHERE location = '${us}'`);
    const gone = [...(await listed()).values()].map(({ location, isGone }) => ({ location, isGone }));
    expect(gone).toEqual([
      { location: eu, isGone: false },
      { location: us, isGone: true },
    ]);
    expect(await run('nodes')).toMatch(/^us .* \d+ s ago, gone /m);
  });
});
