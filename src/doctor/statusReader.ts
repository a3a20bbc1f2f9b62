import { describeConfig } from '../config/describe.ts';
import type { Config } from '../config/variables.ts';
import type { Outcome } from './check.ts';
import { examine, toStatus } from './examine.ts';
import {
  type CertificateFact,
  type DatabaseFacts,
  type DatabaseFailure,
  type GatheredFacts,
  noneKnown,
  NotKnown,
  webhookFacts,
} from './facts.ts';
import type { NodeStatus, ServiceStatus, WorkStatus } from '../engine/admin/status.ts';
import type { Engine } from '../engine/engine.ts';
import {
  type CheckLevel,
  type HealthGauges,
  type HttpMetrics,
  countOf,
  quantileOf,
  readingSince,
} from '../http/answer/metrics.ts';

/** However many ask, the database is asked once in this time. */
const SHARED_FOR_MS = 1_000;

/** What a service does not see of itself, or has made sure of before it runs. */
export const OUTSIDE = [
  'settingProblems',
  'removedSettings',
  'port',
  'metricsPort',
  'openFiles',
  'folder',
  'machineClockMs',
  'readiness',
  'databaseVersion',
  'standby',
  'sessions',
  'schema',
  'copyRefusal',
  'useRefusal',
] as const;

interface StatusContext {
  readonly engine: Engine;
  readonly metrics: HttpMetrics;
  readonly config: Config;
  readonly database: DatabaseFacts;
  readonly version: string;
  readonly monotonicMs: () => number;
  /** PLAIN_HTTP: the service has no certificate. */
  readonly readCertificate: () => CertificateFact | NotKnown;
}

/** What was found at one moment. */
interface Examined {
  readonly status: ServiceStatus;
  readonly health: HealthGauges;
}

/** Reads how the service is doing. Nothing is counted or kept for it while nobody asks. */
export class StatusReader {
  readonly #context: StatusContext;
  readonly #work: RecentWork;
  #last: { readonly atMs: number; readonly examined: Promise<Examined> } | null = null;

  constructor(context: StatusContext) {
    this.#context = context;
    this.#work = new RecentWork(context.metrics, () => context.engine.storage.ledger.nowMs());
  }

  async read(): Promise<ServiceStatus> {
    return (await this.#examined()).status;
  }

  /** What the metrics show of it. */
  async readHealth(): Promise<HealthGauges> {
    return (await this.#examined()).health;
  }

  #examined(): Promise<Examined> {
    const atMs = this.#context.monotonicMs();
    if (this.#last === null || atMs - this.#last.atMs >= SHARED_FOR_MS)
      this.#last = { atMs, examined: this.#examineNow() };
    return this.#last.examined;
  }

  async #examineNow(): Promise<Examined> {
    const { engine, config, database, version } = this.#context;
    const nodes = await database.nodes().catch(() => [database.self()]);
    const gathered = await this.#gather(nodes);
    const { disk } = gathered;
    const outcomes = examine(gathered);
    return {
      status: {
        nowMs: engine.storage.ledger.nowMs(),
        version,
        nodes,
        work: this.#work.read(),
        ...toStatus(outcomes),
        settings: describeConfig(config),
      },
      health: { checks: levelsOf(outcomes), disk: disk instanceof NotKnown ? null : disk },
    };
  }

  async #gather(nodes: readonly NodeStatus[]): Promise<GatheredFacts> {
    const { engine, config, database, readCertificate } = this.#context;
    const { ledger, warnings, webhooks, records } = engine.storage;
    // A database that does not answer is a problem by itself; the rest is still told.
    const unread = (): NotKnown => new NotKnown('the database does not answer');
    const databaseFailure = databaseFailureOf(engine);
    const [allWebhooks, failing, oldestTransactionMs, disk, rootKeys, hasDefaultPlan, backups] = await Promise.all([
      webhooks.list().catch(unread),
      webhooks.listFailing().catch(unread),
      database.oldestTransactionMs().catch(unread),
      database.disk().catch(unread),
      records.listRootKeys().catch(unread),
      engine.newIdentities.hasDefaultPlan().catch(unread),
      database.backups().catch(unread),
    ]);
    return {
      ...noneKnown(OUTSIDE, 'only keystile doctor looks at this, from outside'),
      nowMs: ledger.nowMs(),
      config,
      databaseFailure,
      databaseWarnings: warnings,
      rootKeys,
      hasDefaultPlan,
      nodes,
      waiting: ledger.waiting,
      webhooks:
        allWebhooks instanceof NotKnown || failing instanceof NotKnown ? unread() : webhookFacts(allWebhooks, failing),
      otherTags: engine.memory.openCounts.tagLists.others,
      disk,
      walBytes: database.walBytes(),
      backups,
      oldestTransactionMs,
      certificate: readCertificate(),
    };
  }
}

/** Checks that were not made are left out. */
function levelsOf(outcomes: readonly Outcome[]): Readonly<Record<string, CheckLevel>> {
  return Object.fromEntries(
    outcomes.flatMap(({ name, result }) => (result === 'not-checked' ? [] : [[name, result] as const])),
  );
}

/** Read at one moment: what a commit has found out is forgotten soon. */
function databaseFailureOf({ verifier, storage: { ledger, damage } }: Engine): DatabaseFailure | null {
  if (verifier.stoppedBecause !== null) return { text: verifier.stoppedBecause, cause: null };
  const { commitFailure, commitRefusedFor } = ledger;
  if (commitFailure !== null) return { text: commitFailure, cause: commitRefusedFor ?? null };
  return damage === null ? null : { text: damage.text, cause: damage.ofCountsOnly ? 'counts' : 'damage' };
}

/** Numbers are told of the last minute, in which someone has looked before. */
const SPAN_MS = 60_000;
/** How far apart two remembered readings are. */
const STEP_MS = 10_000;

type Reading = ReturnType<HttpMetrics['read']>;

interface Remembered {
  readonly atMs: number;
  /** null = the start, when nothing was counted yet. */
  readonly reading: Reading | null;
}

/**
 * What the node did lately, from the histograms of the metrics. It remembers a reading when someone looks, and later tells the difference.
 * So the first look tells of the time since the start, and those that follow of about a minute.
 */
class RecentWork {
  readonly #metrics: HttpMetrics;
  readonly #nowMs: () => number;
  #remembered: Remembered[];

  constructor(metrics: HttpMetrics, nowMs: () => number) {
    this.#metrics = metrics;
    this.#nowMs = nowMs;
    this.#remembered = [{ atMs: nowMs(), reading: null }];
  }

  read(): WorkStatus {
    const nowMs = this.#nowMs();
    const now = this.#metrics.read();
    const since = this.#begin(nowMs);
    const verifySeconds = readingSince(since.reading?.verifySeconds ?? null, now.verifySeconds);
    const batchSizes = readingSince(since.reading?.batchSizes ?? null, now.batchSizes);
    const milliseconds = (part: number): number => toMicroseconds((quantileOf(verifySeconds, part) ?? 0) * 1000);
    const verifications = countOf(verifySeconds);
    if (nowMs - (this.#remembered.at(-1)?.atMs ?? 0) >= STEP_MS) this.#remembered.push({ atMs: nowMs, reading: now });
    return {
      sinceMs: since.atMs,
      verifications,
      latency: verifications === 0 ? null : { p50: milliseconds(0.5), p90: milliseconds(0.9), p99: milliseconds(0.99) },
      spends: batchSizes.sum,
      batches: countOf(batchSizes),
    };
  }

  /** The newest reading that is at least a minute old, or else the oldest. Older ones are forgotten. */
  #begin(nowMs: number): Remembered {
    const old = this.#remembered.findLastIndex(({ atMs }) => nowMs - atMs >= SPAN_MS);
    if (old > 0) this.#remembered = this.#remembered.slice(old);
    return this.#remembered[0] ?? { atMs: nowMs, reading: null };
  }
}

/** Milliseconds with three decimals. */
function toMicroseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}
