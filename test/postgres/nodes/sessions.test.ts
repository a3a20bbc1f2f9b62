import { beforeAll, expect, test } from 'bun:test';

import { until } from '../../../tools/cluster/wait.ts';
import { type Setup, sharedSetup } from '../../support/cluster/clusterSetup.ts';

/** As behind a load balancer: the browser knows one host, whichever node answers. */
const PAGE = { host: 'localhost', origin: 'http://localhost', 'keystile-page': 'person' };

let setup: Setup;

beforeAll(async () => {
  setup = await sharedSetup();
});

const send = (node: number, path: string, headers: Record<string, string>): Promise<Response> =>
  fetch(setup.node(node).url + path, {
    method: 'POST',
    headers: { ...PAGE, 'content-type': 'application/json', ...headers },
    body: '{}',
  });

test('a session is accepted by every node, and what one node ends, ends on all of them', async () => {
  const made = await setup.ok(0, '/v1/rootKeys.createRootKey', { name: 'person', permissions: ['*'] });
  const signedIn = await send(0, '/dashboard/session', { authorization: `Bearer ${String(made['key'])}` });
  const cookie = (signedIn.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const statuses = (): Promise<number[]> =>
    Promise.all([0, 1, 2].map(async (node) => (await send(node, '/v1/apis.listApis', { cookie })).status));
  expect(await statuses()).toEqual([200, 200, 200]);
  const { session } = (await signedIn.json()) as { session: { sessionId: string } };
  await setup.ok(1, '/v1/sessions.endSession', { sessionId: session.sessionId });
  await until('all nodes refuse it', async () => (await statuses()).every((status) => status === 401));
});
