import type { DatabaseFailure, Facts } from '../../src/doctor/facts.ts';
import { BACKUPS, CERTIFICATE, configOf, DAY_MS, FILE, FREE, MIB, NODE, ROOT_KEY, TOP } from './facts.ts';

const WITH_TLS = configOf({ KEYSTILE_TLS_CERT: 'cert.pem', KEYSTILE_TLS_KEY: 'key.pem' });

const ON_POSTGRES = configOf({ KEYSTILE_DATABASE_URL: 'postgres://a/b' });

function failureOf(cause: DatabaseFailure['cause'], text = 'x.'): DatabaseFailure {
  return { text, cause };
}

/** Each check, broken once: the facts, what its text must tell, and the command that it must name. */
export const BROKEN: Readonly<Record<string, readonly [facts: Partial<Facts>, tells: string, command: string]>> = {
  configuration: [
    { settingProblems: ['KEYSTILE_PORT must be a port.', 'Unknown setting KEYSTILE_X.'] },
    'KEYSTILE_PORT must be a port. Unknown setting KEYSTILE_X.',
    'keystile serve --show-config',
  ],
  database: [{ databaseFailure: failureOf(null, 'The disk is full.') }, 'The disk is full.', 'df -h ./data'],
  readiness: [
    { readiness: { reasons: ['The database has failed.'], command: 'kill 5' } },
    'not ready: The database has failed.',
    'kill 5',
  ],
  'data-folder': [
    {
      folder: [
        { ...TOP, mode: 0o755 },
        { ...FILE, mode: 0o644 },
      ],
    },
    'Every user of this machine can read or change ./data: keystile.db (mode 644)',
    'chmod -R go-rwx ./data',
  ],
  port: [
    { port: { ...FREE, state: 'taken', reason: 'it does not answer like Keystile' } },
    'Port 7878 is in use by another program',
    'KEYSTILE_PORT=7879 keystile serve',
  ],
  schema: [
    { schema: { version: 3, compatibleFrom: 2, own: 1, isForeign: false } },
    'schema version 3, and this program is for 1',
    'keystile --version',
  ],
  'database-version': [
    { databaseVersion: { found: 13, oldest: 14 } },
    'PostgreSQL 13; Keystile needs 14',
    'pg_upgrade --help',
  ],
  'copied-database': [
    { copyRefusal: 'The database is a copy.' },
    'The database is a copy.',
    'KEYSTILE_ACCEPT_LOST_COMMITS=true keystile serve',
  ],
  moved: [
    { useRefusal: { kind: 'moved', text: 'The database was exported with --move.' } },
    'was exported with --move',
    'keystile data release',
  ],
  'database-settings': [
    { databaseWarnings: ['PostgreSQL runs with fsync = off: a crash loses spends.'] },
    'fsync = off',
    `psql "\${KEYSTILE_DATABASE_URL:?}" -c 'alter system set fsync = on' -c 'select pg_reload_conf()'`,
  ],
  standby: [
    { standby: { awaited: 'ANY 1 (a)', synchronous: 0 } },
    'synchronous_standby_names = ANY 1 (a)',
    `psql "\${KEYSTILE_DATABASE_URL:?}" -c 'select application_name, state, sync_state from pg_stat_replication'`,
  ],
  'database-connections': [
    { sessions: { free: 11, needed: 12 } },
    'only 11 more connections, and a node needs 12',
    `psql "\${KEYSTILE_DATABASE_URL:?}" -c 'alter system set max_connections = 200'`,
  ],
  disk: [
    { disk: { freeBytes: 100 * MIB, totalBytes: 200_000 * MIB } },
    '100 MiB of 200000 MiB',
    'du -ah ./data | sort -h | tail',
  ],
  'open-files': [
    { openFiles: { limit: 1024, fitting: 840, needed: 21_140 } },
    'limit of open files is 1024, and KEYSTILE_MAX_CONNECTIONS=20000 needs 21140: 840 connections',
    'ulimit -n 21140',
  ],
  queue: [
    { waiting: 10_000 },
    '10000 spends and changes wait',
    'curl -s http://127.0.0.1:7879/metrics | grep keystile_commit_seconds',
  ],
  nodes: [
    { nodes: [NODE, { ...NODE, id: 'node_2', isGone: true, seenAtMs: 400_000 }] },
    'node_2, last seen 10 minutes',
    'keystile nodes forget node_2',
  ],
  freshness: [{ nodes: [{ ...NODE, freshnessAgeMs: 1_001 }] }, 'eu (1001 ms)', 'keystile nodes'],
  'local-counts': [{ nodes: [{ ...NODE, syncLagMs: 10_001 }] }, 'eu (10 seconds ago)', 'keystile nodes'],
  tls: [
    { config: configOf({ KEYSTILE_HOST: '0.0.0.0', KEYSTILE_VERIFY_AUTH: 'required' }) },
    'listens on 0.0.0.0 without TLS',
    'KEYSTILE_HOST=127.0.0.1 keystile serve',
  ],
  certificate: [
    {
      certificate: { ...CERTIFICATE, expiresAtMs: 1_000_000 + DAY_MS },
      config: WITH_TLS,
    },
    'expires in 24 hours',
    'openssl x509 -noout -dates -in cert.pem',
  ],
  'open-verification': [
    { config: configOf({ KEYSTILE_HOST: '0.0.0.0', KEYSTILE_PUBLIC_URL: 'https://keys.example' }) },
    'listens on 0.0.0.0, and verifying needs no root key',
    'KEYSTILE_VERIFY_AUTH=required keystile serve',
  ],
  webhooks: [
    { webhooks: [{ id: 'wh_1', host: 'a.example', pausedBecause: null, failingSinceMs: 1_000 }] },
    'a.example has failed for 17 minutes',
    'keystile webhook test wh_1',
  ],
  backups: [
    { backups: { ...BACKUPS, newestAtMs: 300_000, failure: 'The disk is full.' } },
    'Scheduled backups fail: The disk is full. The newest one is 12 minutes old.',
    'keystile backup create keystile.backup',
  ],
  'working-root-key': [
    {
      rootKeys: [
        { ...ROOT_KEY, revokedAtMs: 5 },
        { ...ROOT_KEY, expiresAtMs: 1_000_000 - 8 * DAY_MS },
      ],
    },
    'None of the 2 root keys works',
    "keystile root-key create --name admin --right '*'",
  ],
  'expiring-root-keys': [
    { rootKeys: [ROOT_KEY, { ...ROOT_KEY, id: 'rk_2', expiresAtMs: 1_000_000 + 7 * DAY_MS }] },
    'deploy (rk_2, expires in 7 days)',
    'keystile root-key create --name NAME --right RIGHT && keystile root-key revoke ID',
  ],
  'default-plan': [
    { config: configOf({ KEYSTILE_DEFAULT_PLAN: 'free' }), hasDefaultPlan: false },
    'KEYSTILE_DEFAULT_PLAN names the plan "free", which does not exist',
    'keystile plan list',
  ],
  'lost-commits': [
    { config: configOf({ KEYSTILE_ACCEPT_LOST_COMMITS: 'on' }) },
    'KEYSTILE_ACCEPT_LOST_COMMITS is on',
    'unset KEYSTILE_ACCEPT_LOST_COMMITS',
  ],
  'write-ahead-log': [{ walBytes: 300 * MIB }, '300 MiB', 'fuser -v ./data/keystile.db ./data/analytics.db'],
  transactions: [
    { oldestTransactionMs: 600_000 },
    'open for 10 minutes',
    `psql "\${KEYSTILE_DATABASE_URL:?}" -c 'select pid, application_name, state, query from pg_stat_activity order by xact_start limit 3'`,
  ],
  'machine-clock': [
    { machineClockMs: 5_000 },
    'this machine is 5 seconds behind the database',
    'sudo timedatectl set-ntp true',
  ],
  clocks: [{ nodes: [{ ...NODE, clockOffsetMs: -5_000 }] }, 'eu (5000 ms ahead)', 'sudo timedatectl set-ntp true'],
  versions: [{ nodes: [NODE, { ...NODE, id: 'node_2', version: '1.1.0' }] }, '1.0.0, 1.1.0', 'keystile nodes'],
  'metrics-port': [
    { metricsPort: { port: 7879, state: 'taken', reason: 'EADDRINUSE', free: 7880 } },
    'cannot listen on port 7879 (EADDRINUSE)',
    'KEYSTILE_METRICS_PORT=7880 keystile serve',
  ],
  'root-key': [
    { config: configOf({ KEYSTILE_ROOT_KEY: 'root_0123456789abcdefghijkl' }) },
    'KEYSTILE_ROOT_KEY',
    'keystile root-key create --name NAME --right RIGHT',
  ],
  tags: [
    { otherTags: { refused: 0, lists: 2, bytes: 1 } },
    '3 verifications',
    'KEYSTILE_ANALYTICS_TAG_LISTS=10000 keystile serve',
  ],
};

const UNUSABLE = { ...CERTIFICATE, problem: 'The key does not fit.' };

/** More ways in which one check can be broken. */
export const VARIANTS: readonly (readonly [name: string, facts: Partial<Facts>, tells: string])[] = [
  [
    'configuration',
    { removedSettings: ['KEYSTILE_X is ignored.', 'OTEL_X too.'] },
    'KEYSTILE_X is ignored. OTEL_X too.',
  ],
  ['database', { databaseFailure: failureOf('damage', 'keystile.db is damaged.') }, 'keystile.db is damaged.'],
  ['database', { databaseFailure: failureOf('counts', 'analytics.db is damaged.') }, 'analytics.db is damaged.'],
  ['data-folder', { folder: null }, 'There is no data folder ./data.'],
  [
    'data-folder',
    { folder: [TOP, { ...FILE, uid: 0 }] },
    'do not belong to the user of the folder (1000): keystile.db',
  ],
  ['data-folder', { folder: [{ ...TOP, isAccessible: false }, FILE] }, 'cannot read and write in ./data: the folder'],
  ['data-folder', { folder: [{ ...TOP, mode: 0o702 }, FILE] }, 'the folder (mode 702)'],
  ['data-folder', { folder: [{ ...TOP, mode: 0o770 }, FILE] }, 'The group of its files can read or change ./data'],
  ['data-folder', { folder: [TOP, { ...FILE, isAccessible: false }] }, 'keystile.db (mode 600)'],
  ['schema', { schema: { version: 0, compatibleFrom: 0, own: 1, isForeign: false } }, 'The database is empty'],
  ['schema', { schema: { version: 1, compatibleFrom: 1, own: 1, isForeign: true } }, 'a program before 0.1.0'],
  ['schema', { schema: { version: 1, compatibleFrom: 1, own: 2, isForeign: false } }, 'this program is for 2'],
  ['port', { port: { ...FREE, port: 80, state: 'unusable', reason: 'EACCES' } }, 'listen on 127.0.0.1:80 (EACCES)'],
  ['open-files', { openFiles: { limit: 100, fitting: 0, needed: 21_140 } }, 'the service does not start'],
  ['machine-clock', { machineClockMs: -90_000 }, '90 seconds ahead of the database'],
  ['expiring-root-keys', { rootKeys: [ROOT_KEY, { ...ROOT_KEY, expiresAtMs: 0 }] }, 'expired 17 minutes ago'],
  [
    'certificate',
    { certificate: UNUSABLE, config: WITH_TLS },
    'The key does not fit. The previous certificate stays in use, and expires in 15 days.',
  ],
  [
    'certificate',
    { certificate: { ...UNUSABLE, expiresAtMs: 999_000 }, config: WITH_TLS },
    'The key does not fit. The previous certificate stays in use, and has expired.',
  ],
  [
    'certificate',
    { certificate: { ...UNUSABLE, expiresAtMs: null }, config: WITH_TLS },
    'The key does not fit. The service does not start with these files.',
  ],
  [
    'certificate',
    { certificate: { ...CERTIFICATE, keyMode: 0o640 }, config: WITH_TLS },
    'The group of the file can read or change the private key key.pem (mode 640).',
  ],
  [
    'certificate',
    { certificate: { ...CERTIFICATE, keyMode: 0o644 }, config: WITH_TLS },
    'Everyone on this machine can read or change the private key key.pem (mode 644).',
  ],
  ...[null, 'rights' as const, 'tables' as const].map(
    (cause) => ['database', { databaseFailure: failureOf(cause), config: ON_POSTGRES }, 'x.'] as const,
  ),
];
