import { readConfig } from '../../src/config/read.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { HttpMetrics } from '../../src/http/answer/metrics.ts';
import { makeFrontContext } from '../../src/http/router.ts';
import { makeService } from '../../src/http/service.ts';
import { Log } from '../../src/log.ts';
import { ALWAYS_FRESH } from '../../src/storage/port/freshness.ts';
import type { PostgresStorage } from '../../src/storage/postgres/storage.ts';
import type { Digester } from '../../src/bunPlatform.ts';
import { engineOn } from '../postgres/conformance/engineOn.ts';
import { open } from '../postgres/conformance/postgres.ts';
import type { VirtualClock } from './clock.ts';
import { FrontClient } from './frontClient.ts';

/** Secrets are their own digests, as for the engine. */
const PLAIN = { digest: (secret: string) => secret, older: () => [] } as unknown as Digester;

/**
 * A node on PostgreSQL that hears of no change of another one and believes all it has in memory: what it notices all the same,
 * it notices by its spends.
 */
export class SilentNode {
  readonly #storage: PostgresStorage;
  readonly #client: FrontClient;
  readonly #see: (token: string) => void;
  rootKey = '';

  private constructor(storage: PostgresStorage, engine: Engine, clock: VirtualClock) {
    const { config } = readConfig({ environment: {}, flags: {}, readFile: () => '' });
    if (config === null) throw new Error('the defaults are no configuration');
    const log = new Log({ level: 'error', format: 'json', nowMs: clock.nowMs, write() {} });
    this.#storage = storage;
    // Polls go on, and tell it nothing.
    const { lastSeenChange } = storage;
    this.#see = lastSeenChange.see.bind(lastSeenChange);
    lastSeenChange.see = () => {};
    const metrics = new HttpMetrics();
    const service = makeService({
      engine,
      config,
      digester: PLAIN,
      metrics,
      log,
      tracer: null,
      monotonicMs: clock.nowMs,
    });
    this.#client = new FrontClient(makeFrontContext(service));
  }

  static async start(url: string, clock: VirtualClock): Promise<SilentNode> {
    const storage = await open(url, clock);
    const { records, ledger, localCounts, analytics, imports, events, webhooks } = storage;
    const { auditEntries, reservations, statements, told } = storage;
    const engine = engineOn({
      records,
      ledger,
      localCounts,
      analytics,
      imports,
      auditEntries,
      events,
      webhooks,
      reservations,
      statements,
      told,
      workspaceId: storage.workspaceId,
      freshness: ALWAYS_FRESH,
      warnings: [],
      damage: null,
      outage: null,
      close: () => storage.close(),
    });
    const node = new SilentNode(storage, engine, clock);
    node.rootKey = (await engine.rootKeys.create({ name: 'test', rights: ['*'], expiresAtMs: null })).secret;
    return node;
  }

  /** A call that must succeed. */
  // oxlint-disable-next-line typescript/no-explicit-any
  async ok(path: string, body: object): Promise<any> {
    const sent = JSON.stringify(body);
    const headers = {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(sent)),
      authorization: `Bearer ${this.rootKey}`,
    };
    const target = `/v1/${path}`;
    const answer = await this.#client.send({ method: 'POST', target, headers, body: sent, peer: '203.0.113.7' });
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
    return JSON.parse(answer.text);
  }

  /** It learns that there was a change, and not what it was. */
  see(token: string): void {
    this.#see(token);
  }

  close(): Promise<void> {
    return this.#storage.close();
  }
}
