import type { OtherReason } from '../../engine/analytics/tagLists.ts';
import { VERDICT_CODES, type VerdictCode } from '../../core/verdictCodes.ts';
import { Histogram, type HistogramReading } from './histogram.ts';

/** Upper bounds in seconds. */
const LATENCY_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const MAX_STATUS = 599;
const SIZE_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048];

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

/** Values of background tasks. */
export interface BackgroundGauges {
  /** null where there are no other nodes. */
  readonly cluster: ClusterGauges | null;
  /** Size of the write-ahead log; null where the database is not embedded. */
  readonly walBytes: number | null;
  /** How old the newest scheduled backup is; absent or null where there is none. */
  readonly backupAgeMs?: number | null;
}

/** Values that are read when the metrics are requested. */
export interface Gauges extends BackgroundGauges {
  readonly version: string;
  readonly location: string;
  readonly cacheHits: number;
  readonly cacheMisses: number;
  readonly cachedKeys: number;
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
}

/** All metrics in the format of Prometheus. No label contains a value that a caller sent. */
export class HttpMetrics {
  readonly #verdicts = Object.fromEntries(VERDICT_CODES.map((code) => [code, 0])) as Record<VerdictCode, number>;
  readonly #errors = new Map<string, number>();
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

  text(gauges: Gauges): string {
    const labels = `version=${labelText(gauges.version)},location=${labelText(gauges.location)}`;
    const sections = [
      section('keystile_info', 'gauge', 'This node.', [`keystile_info{${labels}} 1`]),
      section(
        'keystile_verdicts_total',
        'counter',
        'Verifications by verdict.',
        labelled('keystile_verdicts_total', Object.entries(this.#verdicts)),
      ),
      section(
        'keystile_responses_total',
        'counter',
        'Answers by HTTP status.',
        [...this.#responses.entries()]
          .filter(([, count]) => count > 0)
          .map(([status, count]) => `keystile_responses_total{status="${status}"} ${count}`),
      ),
      section(
        'keystile_errors_total',
        'counter',
        'Requests answered with an error, by code.',
        labelled('keystile_errors_total', this.#errors),
      ),
      section(
        'keystile_verify_seconds',
        'histogram',
        'Time from a request to its verdict.',
        this.#verifySeconds.lines('keystile_verify_seconds'),
      ),
      section(
        'keystile_management_seconds',
        'histogram',
        'Time of management calls.',
        this.#manageSeconds.lines('keystile_management_seconds'),
      ),
      section(
        'keystile_commit_seconds',
        'histogram',
        'Time of ledger commits.',
        this.#commitSeconds.lines('keystile_commit_seconds'),
      ),
      section(
        'keystile_batch_size',
        'histogram',
        'Spends and changes in one commit.',
        this.#batchSizes.lines('keystile_batch_size'),
      ),
      section('keystile_ledger_waiting', 'gauge', 'Spends and changes that wait for the ledger.', [
        `keystile_ledger_waiting ${gauges.ledgerWaiting}`,
      ]),
      section('keystile_lookups_waiting', 'gauge', 'Keys that are being looked up.', [
        `keystile_lookups_waiting ${gauges.lookupsWaiting}`,
      ]),
      section('keystile_connections', 'gauge', 'Open connections of clients.', [
        `keystile_connections ${gauges.connections}`,
      ]),
      section(
        'keystile_connections_refused_total',
        'counter',
        'Connections refused or closed because there were too many.',
        [`keystile_connections_refused_total ${gauges.connectionsRefused}`],
      ),
      section('keystile_key_cache_hits_total', 'counter', 'Verifications whose key was in memory.', [
        `keystile_key_cache_hits_total ${gauges.cacheHits}`,
      ]),
      section('keystile_key_cache_misses_total', 'counter', 'Keys looked up in the database.', [
        `keystile_key_cache_misses_total ${gauges.cacheMisses}`,
      ]),
      section('keystile_cached_keys', 'gauge', 'Keys in memory.', [`keystile_cached_keys ${gauges.cachedKeys}`]),
      section('keystile_unsaved_local_counts', 'gauge', 'Local counters not saved yet.', [
        `keystile_unsaved_local_counts ${gauges.unsavedLocalCounts}`,
      ]),
      section(
        'keystile_other_tags_total',
        'counter',
        'Verifications with tags that were counted under the tag `other`, by reason.',
        labelled('keystile_other_tags_total', Object.entries(gauges.otherTags), 'reason'),
      ),
      ...(gauges.walBytes === null ? [] : [walSection(gauges.walBytes)]),
      ...(gauges.backupAgeMs == null ? [] : [backupSection(gauges.backupAgeMs)]),
      ...(gauges.certificateExpiresAtMs == null ? [] : [certificateSection(gauges.certificateExpiresAtMs)]),
      ...(gauges.cluster === null ? [] : clusterSections(gauges.cluster)),
    ];
    return `${sections.flat().join('\n')}\n`;
  }
}

function walSection(bytes: number): string[] {
  const help = 'Size of the write-ahead log of the database.';
  return section('keystile_wal_bytes', 'gauge', help, [`keystile_wal_bytes ${bytes}`]);
}

function backupSection(ageMs: number): string[] {
  const name = 'keystile_backup_age_seconds';
  return section(name, 'gauge', 'How old the newest scheduled backup is.', [`${name} ${ageMs / 1000}`]);
}

function certificateSection(expiresAtMs: number): string[] {
  const name = 'keystile_certificate_expiry_timestamp_seconds';
  return section(name, 'gauge', 'When the certificate in use expires, in seconds since 1970.', [
    `${name} ${expiresAtMs / 1000}`,
  ]);
}

function clusterSections(gauges: ClusterGauges): string[][] {
  const { syncLagMs, freshnessAgeMs, clockOffsetMs, oldestTransactionMs, durability } = gauges;
  const gauge = (name: string, help: string, milliseconds: number): string[] =>
    section(name, 'gauge', help, [`${name} ${milliseconds / 1000}`]);
  return [
    gauge(
      'keystile_sync_lag_seconds',
      'Time since local counts were exchanged with the other nodes.',
      syncLagMs ?? NaN,
    ),
    gauge(
      'keystile_freshness_age_seconds',
      'Time since this node last confirmed that it knows all changes by other nodes.',
      freshnessAgeMs,
    ),
    gauge('keystile_clock_offset_seconds', "The database's clock minus this node's.", clockOffsetMs),
    gauge(
      'keystile_oldest_transaction_seconds',
      'Age of the oldest open transaction of the database.',
      oldestTransactionMs,
    ),
    section(
      'keystile_database_durability',
      'gauge',
      'Settings of the database that make commits survive a crash; 0: off.',
      Object.entries(durability).map(
        ([setting, isOn]) => `keystile_database_durability{setting="${setting}"} ${isOn ? 1 : 0}`,
      ),
    ),
  ];
}

function section(name: string, type: string, help: string, lines: readonly string[]): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines];
}

function labelText(value: string): string {
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}

function labelled(name: string, values: Iterable<readonly [key: string, value: number]>, label = 'code'): string[] {
  return [...values].map(([key, value]) => `${name}{${label}="${key}"} ${value}`);
}
