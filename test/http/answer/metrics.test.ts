import { VERDICT_CODES } from '../../../src/core/verdictCodes.ts';
import { describe, expect, test } from 'bun:test';

import { type ClusterGauges, HttpMetrics } from '../../../src/http/answer/metrics.ts';

const gauges = {
  version: '1.2.3',
  isReady: true,
  isReadyForExact: true,
  location: 'eu "west"\\1\n',
  cacheHits: 3,
  cacheMisses: 4,
  cachedKeys: 5,
  cachedIdentities: 2,
  unsavedLocalCounts: 6,
  cluster: null,
  ledgerWaiting: 7,
  lookupsWaiting: 8,
  walBytes: null,
  connections: 3,
  otherTags: { refused: 9, lists: 10, bytes: 11 },
  connectionsRefused: 4,
};

const linesOf = (metrics: HttpMetrics) => metrics.text(gauges).split('\n');

/** Value of a sample by its full name with labels. */
function sample(metrics: HttpMetrics, name: string): string | undefined {
  return linesOf(metrics)
    .find((line) => line.startsWith(`${name} `))
    ?.slice(name.length + 1);
}

describe('metrics', () => {
  test('the text is the exposition format: HELP, TYPE, then samples of that name alone, and a line break at the end', () => {
    const metrics = new HttpMetrics();
    metrics.verified('VALID', 0.3);
    metrics.failed('BAD_REQUEST');
    metrics.managed(2);
    metrics.committed(7, 1.5);
    expect(metrics.text(gauges).endsWith('\n')).toBe(true);
    let family = '';
    const families: string[] = [];
    for (const line of linesOf(metrics).slice(0, -1)) {
      const help = /^# HELP (\w+) \S.*$/.exec(line);
      if (help !== null) {
        family = help[1] ?? '';
        families.push(family);
      } else if (line.startsWith('#')) expect(line).toMatch(new RegExp(`^# TYPE ${family} (counter|gauge|histogram)$`));
      else
        expect(line).toMatch(
          new RegExp(
            `^${family}(_bucket|_sum|_count)?(\\{\\w+="([^"\\\\\\n]|\\\\[\\\\"n])*"(,\\w+="([^"\\\\\\n]|\\\\[\\\\"n])*")*\\})? [0-9.e+-]+$`,
          ),
        );
    }
    expect(new Set(families).size).toBe(families.length);
  });

  test('every verdict is there from the beginning, with 0', () => {
    for (const code of VERDICT_CODES) {
      expect(sample(new HttpMetrics(), `keystile_verdicts_total{code="${code}"}`)).toBe('0');
    }
  });

  test('verdicts and errors are counted by their code', () => {
    const metrics = new HttpMetrics();
    for (let i = 0; i < 3; i++) metrics.verified('RATE_LIMITED', 1);
    metrics.failed('CONFLICT');
    metrics.failed('CONFLICT');
    expect(sample(metrics, 'keystile_verdicts_total{code="RATE_LIMITED"}')).toBe('3');
    expect(sample(metrics, 'keystile_errors_total{code="CONFLICT"}')).toBe('2');
  });

  test('buckets count all that is not above their bound, in seconds, and the last counts everything', () => {
    const metrics = new HttpMetrics();
    for (const milliseconds of [0.1, 0.11, 1, 1.01, 2500, 2501, 60_000]) metrics.verified('VALID', milliseconds);
    const bucket = (bound: string) => sample(metrics, `keystile_verify_seconds_bucket{le="${bound}"}`);
    expect(['0.0001', '0.00025', '0.0005', '0.001', '0.0025', '1', '2.5', '+Inf'].map(bucket)).toEqual([
      '1',
      '2',
      '2',
      '3',
      '4',
      '4',
      '5',
      '7',
    ]);
    expect(sample(metrics, 'keystile_verify_seconds_count')).toBe('7');
  });

  test('sums add up, and batches are counted by their size', () => {
    const metrics = new HttpMetrics();
    expect(sample(metrics, 'keystile_ledger_waiting')).toBe('7');
    expect(sample(metrics, 'keystile_lookups_waiting')).toBe('8');
    metrics.committed(1, 500);
    metrics.committed(2049, 250);
    expect(sample(metrics, 'keystile_commit_seconds_sum')).toBe('0.75');
    expect(sample(metrics, 'keystile_batch_size_bucket{le="1"}')).toBe('1');
    expect(sample(metrics, 'keystile_batch_size_bucket{le="2048"}')).toBe('1');
    expect(sample(metrics, 'keystile_batch_size_bucket{le="+Inf"}')).toBe('2');
    expect(sample(metrics, 'keystile_batch_size_sum')).toBe('2050');
  });

  test('a node among others shows how it stands to them; one that is alone does not', () => {
    const text = (cluster: ClusterGauges | null) => new HttpMetrics().text({ ...gauges, cluster });
    const among = {
      syncLagMs: 250,
      freshnessAgeMs: 120,
      clockOffsetMs: -5_000,
      oldestTransactionMs: 61_000,
      durability: { fsync: true, synchronous_standby_names: false },
    };
    expect(text(among).match(/^keystile_(?:sync|freshness|clock|oldest|database).*$/gm)).toEqual([
      'keystile_sync_lag_seconds 0.25',
      'keystile_freshness_age_seconds 0.12',
      'keystile_clock_offset_seconds -5',
      'keystile_oldest_transaction_seconds 61',
      'keystile_database_durability{setting="fsync"} 1',
      'keystile_database_durability{setting="synchronous_standby_names"} 0',
    ]);
    expect(text({ ...among, syncLagMs: null })).toContain('keystile_sync_lag_seconds NaN');
    expect(text(null)).not.toContain('keystile_sync_lag_seconds');
  });

  test('an embedded database shows the size of its log; another one does not', () => {
    expect(new HttpMetrics().text({ ...gauges, backupAgeMs: 90_500 })).toContain(
      '\nkeystile_backup_age_seconds 90.5\n',
    );
    expect(new HttpMetrics().text({ ...gauges, backupAgeMs: null })).not.toContain('keystile_backup_age_seconds');
    expect(new HttpMetrics().text({ ...gauges, walBytes: 4_096 })).toContain('\nkeystile_wal_bytes 4096\n');
    expect(new HttpMetrics().text(gauges)).not.toContain('keystile_wal_bytes');
  });

  test('what the service finds about itself is shown as a number, and left out when it is not known', () => {
    const checks = { disk: 'ok', tags: 'advice', webhooks: 'problem' } as const;
    const health = { checks, disk: { freeBytes: 5, totalBytes: 9 } };
    const text = (more: object) => new HttpMetrics().text({ ...gauges, ...more });
    const found = /^keystile_(?:check|disk|ready).*$/gm;
    expect(text({ health }).match(found)).toEqual([
      'keystile_ready 1',
      'keystile_ready_exact 1',
      'keystile_check{check="disk"} 0',
      'keystile_check{check="tags"} 1',
      'keystile_check{check="webhooks"} 2',
      'keystile_disk_free_bytes 5',
      'keystile_disk_total_bytes 9',
    ]);
    expect(text({ health: { checks: {}, disk: null } })).not.toContain('keystile_disk');
    expect(text({ health: null, isReadyForExact: false }).match(found)).toEqual([
      'keystile_ready 1',
      'keystile_ready_exact 0',
    ]);
  });

  test('failed background tasks and the process are shown', () => {
    const more = { taskFailures: { saving: 2 }, process: { residentBytes: 7, cpuSeconds: 1.5, startedAtMs: 2_500 } };
    expect(new HttpMetrics().text({ ...gauges, ...more }).match(/^(?:process|keystile_task).*$/gm)).toEqual([
      'keystile_task_failures_total{task="saving"} 2',
      'process_resident_memory_bytes 7',
      'process_cpu_seconds_total 1.5',
      'process_start_time_seconds 2.5',
    ]);
  });

  test('the expiry of a certificate is shown where there is one', () => {
    const name = 'keystile_certificate_expiry_timestamp_seconds';
    expect(new HttpMetrics().text({ ...gauges, certificateExpiresAtMs: 4_000_000_000_000 })).toContain(
      `\n${name} 4000000000\n`,
    );
    for (const none of [{}, { certificateExpiresAtMs: null }])
      expect(new HttpMetrics().text({ ...gauges, ...none })).not.toContain(name);
  });

  test('what is read from other parts is shown, and a label cannot break its line', () => {
    const metrics = new HttpMetrics();
    expect(sample(metrics, 'keystile_key_cache_hits_total')).toBe('3');
    expect(sample(metrics, 'keystile_key_cache_misses_total')).toBe('4');
    expect(sample(metrics, 'keystile_cached_keys')).toBe('5');
    expect(sample(metrics, 'keystile_cached_identities')).toBe('2');
    expect(sample(metrics, 'keystile_unsaved_local_counts')).toBe('6');
    expect(linesOf(metrics).filter((line) => line.startsWith('keystile_other_tags_total'))).toEqual([
      'keystile_other_tags_total{reason="refused"} 9',
      'keystile_other_tags_total{reason="lists"} 10',
      'keystile_other_tags_total{reason="bytes"} 11',
    ]);
    expect(sample(metrics, String.raw`keystile_info{version="1.2.3",location="eu \"west\"\\1\n"}`)).toBe('1');
  });
});
