import { ERRORS } from '../../core/errors.ts';
import { VERDICT_CODES, type VerdictCode } from '../../core/verdictCodes.ts';
import type { OtherReason } from '../../engine/analytics/tagLists.ts';

type Labels = Readonly<Record<string, string>>;

interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/** One metric with all its values. Every way to read the metrics shows the same families. */
export type Family = { readonly name: string; readonly help: string } & (
  | { readonly type: 'counter' | 'gauge'; readonly samples: readonly Sample[] }
  | { readonly type: 'histogram'; readonly reading: HistogramReading }
);

export function gauge(name: string, help: string, value: number): Family {
  return { name, help, type: 'gauge', samples: [{ labels: {}, value }] };
}

function counter(name: string, help: string, value: number): Family {
  return { name, help, type: 'counter', samples: [{ labels: {}, value }] };
}

function histogram(name: string, help: string, values: Histogram): Family {
  return { name, help, type: 'histogram', reading: values.read() };
}

/** One value for each value of a label. */
function labelled(label: string, values: Iterable<readonly [key: string, value: number]>): readonly Sample[] {
  return [...values].map(([key, value]) => ({ labels: { [label]: key }, value }));
}

/** The families in the text format of Prometheus. */
function familiesText(families: readonly Family[]): string {
  return `${families.flatMap(familyLines).join('\n')}\n`;
}

function familyLines(family: Family): string[] {
  const { name, help, type } = family;
  const lines =
    family.type === 'histogram'
      ? histogramLines(name, family.reading)
      : family.samples.map(({ labels, value }) => `${name}${labelsText(labels)} ${value}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines];
}

function histogramLines(name: string, { bounds, counts, sum }: HistogramReading): string[] {
  let total = 0;
  const buckets = [...bounds, Infinity].map((bound, i) => {
    total += counts[i] ?? 0;
    return `${name}_bucket{le="${bound === Infinity ? '+Inf' : bound}"} ${total}`;
  });
  return [...buckets, `${name}_sum ${sum}`, `${name}_count ${total}`];
}

function labelsText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${quotedValue(value)}`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function quotedValue(value: string): string {
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}

/** Upper bounds in seconds. */
const LATENCY_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const MAX_STATUS = 599;
const SIZE_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048];

/** All metrics. No label contains a value that a caller sent. */
export class HttpMetrics {
  readonly #verdicts = Object.fromEntries(VERDICT_CODES.map((code) => [code, 0])) as Record<VerdictCode, number>;
  /** Every code is there from the beginning: Prometheus sees no increase in a series that begins with 1. */
  readonly #errors = new Map<string, number>(Object.keys(ERRORS).map((code) => [code, 0]));
  /** By status. */
  readonly #responses = new Float64Array(MAX_STATUS + 1);
  readonly #verifySeconds = new Histogram(LATENCY_BUCKETS);
  readonly #manageSeconds = new Histogram(LATENCY_BUCKETS);
  readonly #commitSeconds = new Histogram(LATENCY_BUCKETS);
  readonly #batchSizes = new Histogram(SIZE_BUCKETS);

  verified(code: VerdictCode, milliseconds: number): void {
    this.#verdicts[code]++;
    this.#verifySeconds.add(milliseconds / 1000);
  }

  managed(milliseconds: number): void {
    this.#manageSeconds.add(milliseconds / 1000);
  }

  failed(code: string): void {
    this.#errors.set(code, (this.#errors.get(code) ?? 0) + 1);
  }

  /** Called for every answer that is sent. */
  responded(status: number): void {
    this.#responses[status] = (this.#responses[status] ?? 0) + 1;
  }

  committed(batchSize: number, milliseconds: number): void {
    this.#batchSizes.add(batchSize);
    this.#commitSeconds.add(milliseconds / 1000);
  }

  /** How long verifications took, in seconds, and how large the batches of the ledger were, since the start. */
  read(): { readonly verifySeconds: HistogramReading; readonly batchSizes: HistogramReading } {
    return { verifySeconds: this.#verifySeconds.read(), batchSizes: this.#batchSizes.read() };
  }

  families(gauges: Gauges): readonly Family[] {
    const { version, location } = gauges;
    const statuses = [...this.#responses.entries()].filter(([, count]) => count > 0);
    return [
      {
        name: 'keystile_info',
        help: 'This node.',
        type: 'gauge',
        samples: [{ labels: { version, location }, value: 1 }],
      },
      {
        name: 'keystile_verdicts_total',
        help: 'Verifications by verdict.',
        type: 'counter',
        samples: labelled('code', Object.entries(this.#verdicts)),
      },
      {
        name: 'keystile_responses_total',
        help: 'Answers by HTTP status.',
        type: 'counter',
        samples: labelled(
          'status',
          statuses.map(([status, count]) => [String(status), count]),
        ),
      },
      {
        name: 'keystile_errors_total',
        help: 'Requests answered with an error, by code.',
        type: 'counter',
        samples: labelled('code', this.#errors),
      },
      histogram('keystile_verify_seconds', 'Time from a request to its verdict.', this.#verifySeconds),
      histogram('keystile_management_seconds', 'Time of management calls.', this.#manageSeconds),
      histogram('keystile_commit_seconds', 'Time of ledger commits.', this.#commitSeconds),
      histogram('keystile_batch_size', 'Spends and changes in one commit.', this.#batchSizes),
      ...gaugeFamilies(gauges),
    ];
  }

  /** In the text format of Prometheus. */
  text(gauges: Gauges): string {
    return familiesText(this.families(gauges));
  }
}

/** The state of this node towards the other nodes. */
export interface ClusterGauges {
  /** How long ago local counts were last exchanged; null = never. */
  readonly syncLagMs: number | null;
  /** Time since this node last confirmed that it knows all changes. */
  readonly freshnessAgeMs: number;
  /** The database's clock minus this node's. */
  readonly clockOffsetMs: number;
  /** How long the oldest transaction on the database has been open. */
  readonly oldestTransactionMs: number;
  /** Settings of the database that decide whether commits survive a crash; false: the setting is off. */
  readonly durability: Readonly<Record<string, boolean>>;
}

/** What a check of the service has found. */
export type CheckLevel = 'ok' | 'advice' | 'problem';

const LEVELS: Readonly<Record<CheckLevel, number>> = { ok: 0, advice: 1, problem: 2 };

/** What the service finds when it examines itself. */
export interface HealthGauges {
  /** By the name of the check. */
  readonly checks: Readonly<Record<string, CheckLevel>>;
  /** The disk of the data folder; null where the database is not embedded. */
  readonly disk: { readonly freeBytes: number; readonly totalBytes: number } | null;
}

/** What the operating system counts for this process. */
export interface ProcessGauges {
  readonly residentBytes: number;
  readonly cpuSeconds: number;
  readonly startedAtMs: number;
}

/** Values of background tasks. */
export interface BackgroundGauges {
  /** null where there are no other nodes. */
  readonly cluster: ClusterGauges | null;
  /** Size of the write-ahead log; null where the database is not embedded. */
  readonly walBytes: number | null;
  /** How old the newest scheduled backup is; absent or null where there is none. */
  readonly backupAgeMs?: number | null;
  /** Runs of background tasks that failed, by the name of the task. */
  readonly taskFailures?: Readonly<Record<string, number>>;
  /** Absent or null: the service could not examine itself in time. */
  readonly health?: HealthGauges | null;
}

/** Values that are read when the metrics are requested. */
export interface Gauges extends BackgroundGauges {
  readonly version: string;
  readonly location: string;
  /** The service can answer from memory. */
  readonly isReady: boolean;
  /** It also decides what the database decides. */
  readonly isReadyForExact: boolean;
  readonly cacheHits: number;
  readonly cacheMisses: number;
  readonly cachedKeys: number;
  readonly cachedIdentities: number;
  readonly unsavedLocalCounts: number;
  readonly ledgerWaiting: number;
  readonly lookupsWaiting: number;
  /** Verifications that were counted under the tag `other`. */
  readonly otherTags: Readonly<Record<OtherReason, number>>;
  /** Open connections of clients. */
  readonly connections: number;
  /** Connections refused because there were too many. */
  readonly connectionsRefused: number;
  /** When the certificate in use expires; null or absent = the service speaks plain HTTP. */
  readonly certificateExpiresAtMs?: number | null;
  readonly process?: ProcessGauges;
}

export function gaugeFamilies(gauges: Gauges): readonly Family[] {
  return [
    gauge('keystile_ready', '1: the service can answer. 0: /v1/readiness says why not.', gauges.isReady ? 1 : 0),
    gauge(
      'keystile_ready_exact',
      '1: credits, strict limits and changes are possible, too. 0: /v1/readiness?for=exact says why not.',
      gauges.isReadyForExact ? 1 : 0,
    ),
    gauge('keystile_ledger_waiting', 'Spends and changes that wait for the ledger.', gauges.ledgerWaiting),
    gauge('keystile_lookups_waiting', 'Keys that are being looked up.', gauges.lookupsWaiting),
    gauge('keystile_connections', 'Open connections of clients.', gauges.connections),
    counter(
      'keystile_connections_refused_total',
      'Connections refused or closed because there were too many.',
      gauges.connectionsRefused,
    ),
    counter('keystile_key_cache_hits_total', 'Verifications whose key was in memory.', gauges.cacheHits),
    counter('keystile_key_cache_misses_total', 'Keys looked up in the database.', gauges.cacheMisses),
    gauge('keystile_cached_keys', 'Keys in memory.', gauges.cachedKeys),
    gauge('keystile_cached_identities', 'Customers in memory: those of the cached keys.', gauges.cachedIdentities),
    gauge('keystile_unsaved_local_counts', 'Local counters not saved yet.', gauges.unsavedLocalCounts),
    {
      name: 'keystile_other_tags_total',
      help: 'Verifications with tags that were counted under the tag `other`, by reason.',
      type: 'counter',
      samples: labelled('reason', Object.entries(gauges.otherTags)),
    },
    ...taskFamilies(gauges.taskFailures ?? {}),
    ...healthFamilies(gauges.health ?? null),
    ...(gauges.process === undefined ? [] : processFamilies(gauges.process)),
    ...(gauges.walBytes === null
      ? []
      : [gauge('keystile_wal_bytes', 'Size of the write-ahead log of the database.', gauges.walBytes)]),
    ...(gauges.backupAgeMs == null
      ? []
      : [gauge('keystile_backup_age_seconds', 'How old the newest scheduled backup is.', gauges.backupAgeMs / 1000)]),
    ...(gauges.certificateExpiresAtMs == null ? [] : [certificateFamily(gauges.certificateExpiresAtMs)]),
    ...(gauges.cluster === null ? [] : clusterFamilies(gauges.cluster)),
  ];
}

function taskFamilies(failures: Readonly<Record<string, number>>): readonly Family[] {
  const samples = labelled('task', Object.entries(failures));
  const help = 'Runs of background tasks that failed. They are tried again.';
  return samples.length === 0 ? [] : [{ name: 'keystile_task_failures_total', help, type: 'counter', samples }];
}

function healthFamilies(health: HealthGauges | null): readonly Family[] {
  if (health === null) return [];
  const levels = Object.entries(health.checks).map(([check, level]) => [check, LEVELS[level]] as const);
  const help = 'What the service finds when it examines itself. 0: nothing, 1: advice, 2: a problem.';
  return [
    { name: 'keystile_check', help, type: 'gauge', samples: labelled('check', levels) },
    ...(health.disk === null
      ? []
      : [
          gauge('keystile_disk_free_bytes', 'Free space on the disk of the data folder.', health.disk.freeBytes),
          gauge('keystile_disk_total_bytes', 'Size of the disk of the data folder.', health.disk.totalBytes),
        ]),
  ];
}

/** Under the names that clients of Prometheus in all languages use. */
function processFamilies({ residentBytes, cpuSeconds, startedAtMs }: ProcessGauges): readonly Family[] {
  return [
    gauge('process_resident_memory_bytes', 'Memory of the process.', residentBytes),
    counter('process_cpu_seconds_total', 'Processor time of the process.', cpuSeconds),
    gauge('process_start_time_seconds', 'When the process started, in seconds since 1970.', startedAtMs / 1000),
  ];
}

function certificateFamily(expiresAtMs: number): Family {
  return gauge(
    'keystile_certificate_expiry_timestamp_seconds',
    'When the certificate in use expires, in seconds since 1970.',
    expiresAtMs / 1000,
  );
}

function clusterFamilies(gauges: ClusterGauges): readonly Family[] {
  const { syncLagMs, freshnessAgeMs, clockOffsetMs, oldestTransactionMs, durability } = gauges;
  const settings = Object.entries(durability).map(([setting, isOn]) => [setting, isOn ? 1 : 0] as const);
  return [
    gauge(
      'keystile_sync_lag_seconds',
      'Time since local counts were exchanged with the other nodes.',
      syncLagMs === null ? NaN : syncLagMs / 1000,
    ),
    gauge(
      'keystile_freshness_age_seconds',
      'Time since this node last confirmed that it knows all changes by other nodes.',
      freshnessAgeMs / 1000,
    ),
    gauge('keystile_clock_offset_seconds', "The database's clock minus this node's.", clockOffsetMs / 1000),
    gauge(
      'keystile_oldest_transaction_seconds',
      'Age of the oldest open transaction of the database.',
      oldestTransactionMs / 1000,
    ),
    {
      name: 'keystile_database_durability',
      help: 'Settings of the database that make commits survive a crash; 0: off.',
      type: 'gauge',
      samples: labelled('setting', settings),
    },
  ];
}

/** The counts of a histogram at one moment. */
interface HistogramReading {
  /** Upper bounds. One count more is for what is larger than all of them. */
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
}

/** Counts by upper bound; adding a value is a short search and two additions. */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  add(value: number): void {
    let i = 0;
    while (i < this.#bounds.length && value > (this.#bounds[i] ?? Infinity)) i++;
    this.#counts[i] = (this.#counts[i] ?? 0) + 1;
    this.#sum += value;
  }

  read(): HistogramReading {
    return { bounds: this.#bounds, counts: [...this.#counts], sum: this.#sum };
  }
}

/** What was added between two readings of one histogram. */
export function readingSince(before: HistogramReading | null, now: HistogramReading): HistogramReading {
  if (before === null) return now;
  const counts = now.counts.map((count, i) => count - (before.counts[i] ?? 0));
  return { bounds: now.bounds, counts, sum: now.sum - before.sum };
}

export function countOf({ counts }: HistogramReading): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/**
 * About the value that this part (0 to 1) of all values does not exceed. Values count as spread evenly between two bounds, and those above
 * all bounds count as the largest bound. null: there are no values.
 */
export function quantileOf(reading: HistogramReading, part: number): number | null {
  const total = countOf(reading);
  if (total === 0) return null;
  const { bounds, counts } = reading;
  let below = 0;
  for (const [i, bound] of bounds.entries()) {
    const count = counts[i] ?? 0;
    if (count > 0 && below + count >= total * part) {
      const from = bounds[i - 1] ?? 0;
      return from + ((bound - from) * (total * part - below)) / count;
    }
    below += count;
  }
  return bounds.at(-1) ?? null;
}
