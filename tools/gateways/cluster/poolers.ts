import { PostgresServer } from '../../cluster/postgres.ts';
import { until } from '../../cluster/wait.ts';
import { POOLED } from '../../../src/storage/postgres/connection/ownSession.ts';
import { EXIT } from '../../../src/serve/exit.ts';
import { runToEnd } from '../../../test/process/process.ts';
import { ROOT_KEY } from '../../../test/process/server.ts';
import { expectEqual } from '../case.ts';
import { verification } from '../requests.ts';
import type { ClusterCase } from './case.ts';
import { NodePair } from './pair.ts';
import { PgBouncer, pgbouncer } from './pgbouncer.ts';
import { shown, Traffic } from './traffic.ts';

const CREDITS = 1_000_000;
const LOAD_MS = 5_000;
const CLIENTS = 8;

/** Traffic on each node of credits, and of a change every now and then. */
async function spendOn(pair: NodePair): Promise<string> {
  const { key, keyId } = await pair.createKey({ remaining: CREDITS });
  const request = verification(key);
  const requests = Array.from({ length: CLIENTS }, () => request);
  await using own = new AsyncDisposableStack();
  const traffic = pair.ports.map((port) => own.use(new Traffic(port, requests)));
  const endsAt = performance.now() + LOAD_MS;
  while (performance.now() < endsAt) {
    for (const index of pair.ports.keys()) {
      const { status } = await pair.node(index).call('/v1/keys.updateKey', { keyId, name: crypto.randomUUID() });
      expectEqual('a change', status, 200);
    }
  }
  const told: string[] = [];
  for (const each of traffic) {
    const outcomes = await each.stop();
    expectEqual(`answers (${shown(outcomes)})`, [...outcomes.keys()], ['200 VALID']);
    told.push(shown(outcomes));
  }
  const spent = traffic.reduce((sum, each) => sum + each.spentBy(request), 0);
  expectEqual('credits spent', CREDITS - (await pair.remaining(keyId)), spent);
  return told.join(' and ');
}

const session: ClusterCase = {
  name: 'PgBouncer in session mode: two nodes spend and change by way of it',
  needs: [pgbouncer.name],
  async run({ newFolder }) {
    await using postgres = await PostgresServer.start();
    await using pooler = await PgBouncer.start(postgres.port, newFolder(), 'session');
    await using pair = await NodePair.start({ postgres, through: (url) => pooler.through(url) });
    return await spendOn(pair);
  },
};

const refused: ClusterCase = {
  name: 'PgBouncer in transaction and statement mode: a start ends with code 78 and names the pooler',
  needs: [pgbouncer.name],
  async run({ newFolder }) {
    await using postgres = await PostgresServer.start();
    for (const mode of ['transaction', 'statement'] as const) {
      await using pooler = await PgBouncer.start(postgres.port, newFolder(), mode);
      const KEYSTILE_DATABASE_URL = pooler.through(postgres.url());
      const { code, stderr } = await runToEnd({ settings: { KEYSTILE_DATABASE_URL, KEYSTILE_ROOT_KEY: ROOT_KEY } });
      expectEqual(`the end in ${mode} mode`, [code, stderr], [EXIT.CANNOT_START, `${POOLED}\n`]);
    }
    const tables = await postgres.query(`SELECT count(*)::int AS count FROM pg_tables WHERE schemaname = 'public'`);
    expectEqual('tables that were made', tables, [{ count: 0 }]);
    return 'refused twice, and nothing was written';
  },
};

const turned: ClusterCase = {
  name: 'PgBouncer turns to transaction mode while nodes run: they are not ready, and nothing is charged that is not answered',
  needs: [pgbouncer.name],
  async run({ newFolder }) {
    await using postgres = await PostgresServer.start();
    await using pooler = await PgBouncer.start(postgres.port, newFolder(), 'session');
    await using pair = await NodePair.start({ postgres, through: (url) => pooler.through(url) });
    const { key, keyId } = await pair.createKey({ remaining: CREDITS });
    const request = verification(key);
    await using own = new AsyncDisposableStack();
    const traffic = pair.ports.map((port) => own.use(new Traffic(port, [request, request])));
    pooler.turnTo('transaction');
    for (const index of pair.ports.keys())
      await until('the node is not ready, because of the pooler', async () => {
        const answer = await fetch(`${pair.node(index).url}/v1/readiness`);
        return answer.status === 503 && (await answer.text()).includes('pool_mode = session');
      });
    const outcomes = await Promise.all(traffic.map((each) => each.stop()));
    const told = outcomes.map(shown).join(' and ');
    const kinds = outcomes.flatMap((each) => [...each.keys()]).filter((outcome) => !EXPECTED.test(outcome));
    expectEqual(`answers (${told})`, kinds, []);
    const [row] = await postgres.query(
      `SELECT value::int FROM accounts a JOIN keys k ON k.credits_account = a.id WHERE k.id = '${keyId}'`,
    );
    const charged = CREDITS - Number(row?.['value']);
    const valid = traffic.reduce((sum, each) => sum + each.spentBy(request), 0);
    const unknown = outcomes.reduce((sum, each) => sum + (each.get('503 OUTCOME_UNKNOWN') ?? 0), 0);
    expectEqual(
      `${charged} charged for ${valid} valid, ${unknown} unknown`,
      charged >= valid && charged <= valid + unknown,
      true,
    );
    return told;
  },
};

const EXPECTED = /^(?:200 VALID|503 (?:UNAVAILABLE|OUTCOME_UNKNOWN))$/;

export const POOLER_CASES: readonly ClusterCase[] = [session, refused, turned];
