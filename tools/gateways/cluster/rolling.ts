import { until } from '../../cluster/wait.ts';
import { expectEqual } from '../case.ts';
import type { Gateway } from '../gateway.ts';
import { verification } from '../requests.ts';
import type { ClusterCase } from './case.ts';
import { NodePair } from './pair.ts';
import { shown, Traffic } from './traffic.ts';

const RESTARTS = 10;
const CREDITS = 100_000_000;
/** Clients at each gateway. */
const OF_LOCAL_LIMIT = 5;
const OF_CREDITS = 3;

/** The default stop delay, which nodes behind a trusted proxy have. */
export const rolling: ClusterCase = {
  name: `${RESTARTS} rolling restarts of two nodes under load: every request is answered, every credit is spent once`,
  needs: ['nginx', 'haproxy'],
  async run({ kinds, newFolder }) {
    await using own = new AsyncDisposableStack();
    const pair = own.use(await NodePair.start());
    const [nodePort = 0, otherPort = 0] = pair.ports;
    const local = await pair.createKey({ ratelimit: { async: true, limit: CREDITS, duration: 3_600_000 } });
    const sold = await pair.createKey({ remaining: CREDITS });
    const requests = [
      ...Array.from({ length: OF_LOCAL_LIMIT }, () => verification(local.key)),
      ...Array.from({ length: OF_CREDITS }, () => verification(sold.key)),
    ];
    const gateways: Gateway[] = [];
    for (const kind of kinds) gateways.push(own.use(await kind.start({ nodePort, otherPort, folder: newFolder() })));
    const traffic = gateways.map(({ port }) => own.use(new Traffic(port, requests)));
    for (let restart = 0; restart < RESTARTS; restart++) {
      const index = restart % pair.ports.length;
      expectEqual(`exit code of restart ${restart + 1}`, await pair.restartNode(index), 0);
      for (const gateway of gateways) await untilUsed(gateway, pair.ports[index] ?? 0);
    }
    const told: string[] = [];
    let spent = 0;
    for (const [i, kind] of kinds.entries()) {
      const outcomes = await traffic[i]?.stop();
      told.push(`${kind.name}: ${shown(outcomes ?? new Map())}`);
      spent += traffic[i]?.spentBy(verification(sold.key)) ?? 0;
    }
    const failed = traffic.flatMap(({ outcomes }) => [...outcomes.keys()]).filter((outcome) => outcome !== '200 VALID');
    expectEqual(`requests that failed (${told.join('; ')})`, failed, []);
    expectEqual('credits spent', CREDITS - (await pair.remaining(sold.keyId)), spent);
    return told.join('; ');
  },
};

/** The gateway has answers of this node that it did not have before. */
async function untilUsed(gateway: Gateway, nodePort: number): Promise<void> {
  const before = await gateway.answersOf(nodePort);
  await until(`the gateway uses the node at ${nodePort}`, async () => (await gateway.answersOf(nodePort)) > before);
}
