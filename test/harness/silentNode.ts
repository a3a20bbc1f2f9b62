import { readConfig } from '../../src/config/read.ts';
import { Engine } from '../../src/engine/engine.ts';
import { makeHandler } from '../../src/http/app.ts';
import { HttpMetrics } from '../../src/http/metrics.ts';
import { makeService } from '../../src/http/service.ts';
import { Log } from '../../src/log.ts';
import { ALONE } from '../../src/storage/feedPort.ts';
import type { PostgresStorage } from '../../src/storage/postgres/storage.ts';
import { Digester, textReader } from '../../src/system.ts';
import { open } from '../conformance/postgres.ts';
import type { VirtualClock } from './clock.ts';

/**
 * A node on PostgreSQL that hears of no change of another one and believes all it has in memory: what it notices all the same,
 * it notices by its spends.
 */
export class SilentNode {
  readonly #storage: PostgresStorage;
  readonly #handle: ReturnType<typeof makeHandler>;
  rootKey = '';

  private constructor(storage: PostgresStorage, engine: Engine, clock: VirtualClock) {
    const { config } = readConfig({ environment: {}, flags: {}, readFile: () => '' });
    if (config === null) throw new Error('the defaults are no configuration');
    const digester = new Digester(config.pepper);
    const log = new Log({ level: 'error', format: 'json', nowMs: clock.nowMs, write() {} });
    this.#storage = storage;
    this.#handle = makeHandler(
      makeService({ engine, config, digester, metrics: new HttpMetrics(), log, monotonicMs: clock.nowMs }),
    );
  }

  static async start(url: string, clock: VirtualClock): Promise<SilentNode> {
    const storage = await open(url, clock);
    const { records, ledger, edge, tallies, imports, workspaceId } = storage;
    const digester = new Digester(null);
    const engine = new Engine({
      storage: { records, ledger, edge, tallies, imports, workspaceId, feed: ALONE, close: () => storage.close() },
      system: {
        nowMs: clock.nowMs,
        randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
        digestSecret: (secret) => digester.digest(secret),
        olderDigests: () => [],
        digestOfSha256: (sha256) => digester.ofSha256(sha256),
        olderDigestsOfSha256: () => [],
        textReader,
      },
      defaultTimezone: 'UTC',
      maxCachedKeys: 1000,
      maxLocalOwners: 1000,
      maxLimitsPerNamespace: 1000,
      quotas: { keys: null, apis: null, verificationsPerSecond: null },
      retention: { minute: 1, hour: 1, day: 1 },
    });
    const node = new SilentNode(storage, engine, clock);
    node.rootKey = (await engine.rootKeys.create({ name: 'test', rights: ['*'], expiresAtMs: null })).secret;
    return node;
  }

  /** A call that must succeed. */
  // oxlint-disable-next-line typescript/no-explicit-any
  async ok(path: string, body: object): Promise<any> {
    const request = new Request(`http://keystile.test/v1/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.rootKey}` },
      body: JSON.stringify(body),
    });
    const response = await this.#handle(request, () => '203.0.113.7');
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`);
    return JSON.parse(text);
  }

  close(): Promise<void> {
    return this.#storage.close();
  }
}
