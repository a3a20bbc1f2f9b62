import { describeConfig } from '../config/show.ts';
import type { Config } from '../config/variables.ts';
import type { CheckStatus, Problem, ServiceStatus } from '../engine/admin/status/serviceStatus.ts';
import type { Engine } from '../engine/engine.ts';
import type { HttpMetrics } from '../http/answer/metrics.ts';
import { CHECKS } from './checkTable.ts';
import type { DatabaseFacts } from './databaseFacts.ts';
import type { Facts, WebhookFact } from './facts.ts';
import { RecentWork } from './recentWork.ts';

/** However many ask, the database is asked once in this time. */
const SHARED_FOR_MS = 1_000;

export interface StatusContext {
  readonly engine: Engine;
  readonly metrics: HttpMetrics;
  readonly config: Config;
  readonly database: DatabaseFacts;
  readonly version: string;
  readonly monotonicMs: () => number;
  /** When the certificate in use expires; null = the service has none. */
  readonly certificateExpiresAtMs: () => number | null;
}

/** Reads how the service is doing. Nothing is counted or kept for it while nobody asks. */
export class StatusReader {
  readonly #context: StatusContext;
  readonly #work: RecentWork;
  #last: { readonly atMs: number; readonly status: Promise<ServiceStatus> } | null = null;

  constructor(context: StatusContext) {
    this.#context = context;
    this.#work = new RecentWork(context.metrics, () => context.engine.storage.ledger.nowMs());
  }

  read(): Promise<ServiceStatus> {
    const atMs = this.#context.monotonicMs();
    if (this.#last === null || atMs - this.#last.atMs >= SHARED_FOR_MS) this.#last = { atMs, status: this.#readNow() };
    return this.#last.status;
  }

  async #readNow(): Promise<ServiceStatus> {
    const { config, version } = this.#context;
    const facts = await this.#facts();
    return {
      nowMs: facts.nowMs,
      version,
      nodes: facts.nodes,
      work: this.#work.read(),
      ...examine(facts),
      settings: describeConfig(config),
    };
  }

  async #facts(): Promise<Facts> {
    const { engine, config, database, certificateExpiresAtMs } = this.#context;
    const { ledger, warnings } = engine.storage;
    // A database that does not answer is a problem by itself; the rest is still told.
    const [nodes, webhooks, oldestTransactionMs, disk, backups] = await Promise.all([
      database.nodes().catch(() => [database.self()]),
      webhookFacts(engine).catch(() => []),
      database.oldestTransactionMs().catch(() => 0),
      database.disk().catch(() => null),
      database.backups().catch(() => null),
    ]);
    return {
      nowMs: ledger.nowMs(),
      config,
      stoppedBecause: engine.verifier.stoppedBecause,
      commitFailure: ledger.commitFailure,
      databaseWarnings: warnings,
      nodes,
      waiting: ledger.waiting,
      webhooks,
      otherTags: engine.openCounts.tagLists.others,
      disk,
      walBytes: database.walBytes(),
      backups,
      oldestTransactionMs,
      certificateExpiresAtMs: certificateExpiresAtMs(),
    };
  }
}

/** What all checks find. */
export function examine(facts: Facts): {
  readonly problems: readonly Problem[];
  readonly checks: readonly CheckStatus[];
} {
  const found = CHECKS.map((check) => ({ ...check, finding: check.find(facts) }));
  return {
    problems: found.flatMap(({ name, severity, finding }) =>
      finding === null ? [] : [{ name, severity, ...finding }],
    ),
    checks: found.map(({ name, meaning, finding }) => ({ name, meaning, isOk: finding === null })),
  };
}

async function webhookFacts({ storage: { webhooks } }: Engine): Promise<WebhookFact[]> {
  const [all, failing] = await Promise.all([webhooks.list(), webhooks.listFailing()]);
  return all
    .filter(({ enabled }) => enabled)
    .map(({ id, url, pausedBecause }) => ({
      host: URL.canParse(url) ? new URL(url).host : 'an address that cannot be read',
      pausedBecause,
      failingSinceMs: failing.get(id) ?? null,
    }));
}
