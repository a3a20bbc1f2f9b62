import { until } from '../../cluster/wait.ts';
import { expectEqual } from '../case.ts';
import { haproxy } from '../haproxy.ts';
import { bare, verification } from '../requests.ts';
import { Client } from '../client.ts';
import type { ClusterCase } from './case.ts';
import { NodePair } from './pair.ts';
import { shown, Traffic } from './traffic.ts';

const LIMIT = 100_000_000;
const CLIENTS = 4;
/** Long enough for HAProxy to take a node out that is not ready: a silence is told after 3 s, and two checks fail in 2 s. */
const OUTAGE_MS = 10_000;
const ASKS_FOR_EXACT = ['option httpchk GET /v1/readiness', 'option httpchk GET /v1/readiness?for=exact'] as const;

/** Asks a node itself. */
async function readinessOf(port: number, query = ''): Promise<{ status: number; body: string }> {
  using client = await Client.open(port);
  client.send(bare(`GET /v1/readiness${query} HTTP/1.1`));
  const answer = await client.answer();
  return { status: answer?.status ?? 0, body: answer?.body ?? '' };
}

export const outage: ClusterCase = {
  name: 'PostgreSQL is away, KEYSTILE_STALE_MAX=1h: known keys with local limits are answered, exact traffic is not sent',
  needs: ['haproxy'],
  async run({ newFolder }) {
    await using own = new AsyncDisposableStack();
    const pair = own.use(await NodePair.start({ settings: { KEYSTILE_STALE_MAX: '1h' } }));
    const [nodePort = 0, otherPort = 0] = pair.ports;
    const start = (changes: readonly (readonly [string, string])[]) =>
      haproxy.start({ nodePort, otherPort, folder: newFolder(), changes });
    const [usual, exact] = [own.use(await start([])), own.use(await start([ASKS_FOR_EXACT]))];
    const { key } = await pair.createKey({ ratelimit: { async: true, limit: LIMIT, duration: 3_600_000 } });
    const request = verification(key);
    // Each node knows the key.
    for (const gateway of [usual, exact])
      await until('both nodes have answered', async () => {
        const traffic = new Traffic(gateway.port, [request]);
        await Bun.sleep(50);
        await traffic.stop();
        return (await gateway.answersOf(nodePort)) > 0 && (await gateway.answersOf(otherPort)) > 0;
      });
    await pair.postgres.stop('immediate');
    const requests = Array.from({ length: CLIENTS }, () => request);
    await using traffic = new Traffic(usual.port, requests);
    await Bun.sleep(OUTAGE_MS);
    const outcomes = await traffic.stop();
    expectEqual('answers while the database is away', [...outcomes.keys()], ['200 VALID']);
    for (const server of ['keystile1', 'keystile2'] as const) {
      expectEqual(`${server} for what is in memory`, await usual.statistic('status', server), 'UP');
      expectEqual(`${server} for exact traffic`, await exact.statistic('status', server), 'DOWN');
    }
    for (const port of pair.ports) {
      const [memory, forExact] = [await readinessOf(port), await readinessOf(port, '?for=exact')];
      expectEqual('readiness', [memory.status, forExact.status], [200, 503]);
      expectEqual('the warning', /"warnings":\["Only what needs no database/.test(memory.body), true);
    }
    await pair.postgres.restart();
    await until('exact traffic is sent again', async () => (await exact.statistic('status')) === 'UP');
    return `${shown(outcomes)} in ${OUTAGE_MS / 1000} s without the database; for exact traffic both nodes were down`;
  },
};
