import { afterAll, beforeAll, expect, test } from 'bun:test';

import { until } from '../../../tools/cluster/wait.ts';
import { Setup } from '../../support/cluster/clusterSetup.ts';

let setup: Setup;
let apiId = '';

beforeAll(async () => {
  setup = await Setup.start({ locations: ['eu', 'us'] });
  apiId = String((await setup.ok(0, '/v1/apis.createApi', { name: 'imported' })).apiId);
}, 60_000);

afterAll(async () => {
  await setup[Symbol.asyncDispose]();
}, 60_000);

interface Progress {
  readonly queued: number;
  readonly done: number;
  readonly failed: number;
  readonly errors: readonly { index: number; message: string }[];
}

test('keys that are queued through two nodes, which both work on them, are made exactly once each', async () => {
  const migrationId = 'through two nodes';
  const secrets = Array.from({ length: 1000 }, (_, i) => `secret-of-two-nodes-${i}`);
  const calls = Array.from({ length: 40 }, (_, i) => {
    const keys = secrets.slice(i * 25, i * 25 + 25).map((plaintext) => ({ plaintext, externalId: `user_${i % 3}` }));
    return setup.node(i % 2).call('/v1/migrations.enqueueKeys', { migrationId, apiId, keys });
  });
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(calls.map(() => 202));
  let progress: Progress | null = null;
  await until('all are done', async () => {
    progress = (await setup.ok(1, '/v1/migrations.getProgress', { migrationId })) as unknown as Progress;
    return progress.done + progress.failed >= progress.queued;
  });
  expect(progress as unknown).toMatchObject({ queued: 1000, done: 1000, failed: 0, errors: [] });
  expect((await setup.ok(0, '/v1/apis.listKeys', { apiId, limit: 1 })).total).toBe(1000);
  for (const [i, node] of [
    [0, 0],
    [999, 1],
  ] as const) {
    expect(await setup.ok(node, '/v1/keys.verifyKey', { key: secrets[i] })).toMatchObject({ valid: true });
  }
}, 60_000);

test('of imports of the same keys through two nodes at the same time each key is taken by one', async () => {
  const items = Array.from({ length: 20 }, (_, i) => ({ apiId, plaintext: `secret-of-a-race-${i}` }));
  const answers = await Promise.all(
    items.flatMap((item) => [0, 1].map((node) => setup.node(node).call('/v1/migrations.createKeys', [item]))),
  );
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
    ...items.map(() => 200),
    ...items.map(() => 409),
  ]);
}, 60_000);

test('a root key that one node rotates is known to the other by both secrets, up to the end of the overlap', async () => {
  const made = await setup.ok(0, '/v1/rootKeys.createRootKey', { name: 'turned', permissions: ['api.*.read_api'] });
  const works = async (key: unknown): Promise<boolean> => {
    const headers = { authorization: `Bearer ${String(key)}`, 'content-type': 'application/json' };
    const url = `${setup.node(1).url}/v1/apis.listApis`;
    return (await fetch(url, { method: 'POST', headers, body: '{}' })).status === 200;
  };
  expect(await works(made.key)).toBe(true);
  const body = { rootKeyId: made.rootKeyId, overlapMs: 3000 };
  const rotated = await setup.ok(0, '/v1/rootKeys.rotateRootKey', body);
  const answeredAtMs = performance.now();
  expect([await works(rotated.key), await works(made.key)]).toEqual([true, true]);
  // The overlap began before the answer and ends 3 s later: what is asked after that must be refused.
  await until('the overlap has ended', async () => {
    const isAfterEnd = performance.now() > answeredAtMs + 3000;
    const isValid = await works(made.key);
    if (isAfterEnd) expect(isValid).toBe(false);
    return isAfterEnd;
  });
  expect(await works(rotated.key)).toBe(true);
}, 60_000);
