import {
  addressBlocks,
  choice,
  color,
  count,
  databaseUrl,
  duration,
  encryptionKeys,
  fileOf,
  flag,
  type Kind,
  origins,
  type Pepper,
  peppers,
  pictureFile,
  port,
  publicUrl,
  text,
  timezone,
} from './kinds.ts';
import { MAX_IMPORT_BODY_BYTES } from '../core/bounds.ts';

const HOUR_MS = 3_600_000;

const DAY_MS = 24 * HOUR_MS;

/**
 * Where a setting comes from: `environment` is its variable, `file` is the file that NAME_FILE names, `standard` is a variable that other
 * programs read too.
 */
export type Origin = 'default' | 'environment' | 'file' | 'flag' | 'standard';

/** A setting: its name, its kind of value, and its meaning. */
export interface Variable<T, F extends string | null> {
  readonly name: string;
  readonly kind: Kind<T>;
  /** The default, written as a user would write it. Null: no default. */
  readonly fallback: F;
  readonly meaning: string;
  /** Never printed. NAME_FILE can name a file that contains it. */
  readonly isSecret?: true;
  /** A variable that other programs read too. It counts if this one is not set. A wrong value of it is ignored. */
  readonly standard?: string;
}

function variable<T, F extends string | null>(
  name: string,
  kind: Kind<T>,
  fallback: F,
  meaning: string,
): Variable<T, F> {
  return { name: `KEYSTILE_${name}`, kind, fallback, meaning };
}

function secret<T>(name: string, kind: Kind<T>, meaning: string): Variable<T, null> {
  return { ...variable(name, kind, null, meaning), isSecret: true };
}

/** The settings of backups and exports. */
const BACKUP_VARIABLES = {
  backupFolder: variable(
    'BACKUP_FOLDER',
    text,
    null,
    'Folder for scheduled backups of the embedded database. It is created with mode 0700, but not the folders above it. Without this setting, no backups are made.',
  ),
  backupEvery: variable(
    'BACKUP_EVERY',
    duration(60_000, 30 * DAY_MS),
    '1d',
    'The time from one scheduled backup to the next.',
  ),
  backupKeep: variable(
    'BACKUP_KEEP',
    count(1, 10_000),
    '7',
    'How many scheduled backups are kept. After a new one is made, the oldest are removed.',
  ),
  copyKey: secret(
    'COPY_KEY',
    encryptionKeys,
    'Signs backups and exports: `keystile backup verify`, `backup restore` and `data import` then refuse a copy that is not signed or was changed. Keep the key apart from the copies. To change the key, set the new one before the old one, separated by a comma.',
  ),
} as const satisfies Record<string, Variable<unknown, string | null>>;

/** The settings of the customers' page. */
const PORTAL_VARIABLES = {
  portalName: variable(
    'PORTAL_NAME',
    text,
    'API keys',
    "The name on the customers' page, such as that of your product.",
  ),
  portalColor: variable('PORTAL_COLOR', color, '#0b57d0', "The colour of the customers' page."),
  portalLogo: variable('PORTAL_LOGO', pictureFile, null, "A picture for the customers' page, at most 256 KiB."),
  portalReturnOrigins: variable(
    'PORTAL_RETURN_ORIGINS',
    origins,
    null,
    "Origins that the customers' page may lead back to, separated by commas; `*` allows all. Default: none.",
  ),
} as const satisfies Record<string, Variable<unknown, string | null>>;

const fraction: Kind<number> = {
  label: '0 to 1',
  parse(value) {
    const number = /^(?:\d*\.)?\d{1,9}$/.test(value) ? Number(value) : NaN;
    return number <= 1 ? { value: number } : { problem: 'must be a number from 0 to 1, such as 0.01' };
  },
};

/**
 * The URL is logged, so it must hold no credentials, and a message does not repeat a wrong one that may hold some. Paths are appended to
 * it.
 */
const endpoint: Kind<string> = {
  label: 'URL',
  parse(value) {
    const parsed = publicUrl.parse(value);
    if (!/[@?#]/.test(value)) return parsed;
    const problem = 'must have no user, password, query or fragment; credentials belong in KEYSTILE_OTLP_HEADERS';
    return { problem, item: '' };
  },
};

/** Names and values of headers in OpenTelemetry's format: values are percent-encoded. */
const headers: Kind<Readonly<Record<string, string>>> = {
  label: 'name=value, separated by commas',
  parse(value) {
    const pairs = value.split(',').map((part) => /^([\w!#$%&'*+.^`|~-]+)=([\x20-\x7e]*)$/.exec(part.trim()));
    const entries = pairs.flatMap((pair) => (pair === null ? [] : [[pair[1] ?? '', decoded(pair[2] ?? '')] as const]));
    return entries.length === pairs.length && entries.every(([, decodedValue]) => /^[\x20-\x7e]*$/.test(decodedValue))
      ? { value: Object.fromEntries(entries) }
      : { problem: 'must be name=value, separated by commas, in printable ASCII' };
  },
};

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** The settings of OpenTelemetry. */
const TELEMETRY_VARIABLES = {
  otlpEndpoint: {
    ...variable(
      'OTLP_ENDPOINT',
      endpoint,
      null,
      'The URL of an OpenTelemetry collector that takes OTLP over HTTP, such as http://127.0.0.1:4318. The service sends traces to /v1/traces and metrics to /v1/metrics below it. Without it, nothing of OpenTelemetry is loaded.',
    ),
    standard: 'OTEL_EXPORTER_OTLP_ENDPOINT',
  },
  otlpHeaders: {
    ...secret('OTLP_HEADERS', headers, 'Headers for the collector, such as authorization=Bearer%20secret.'),
    standard: 'OTEL_EXPORTER_OTLP_HEADERS',
  },
  otlpServiceName: {
    ...variable('OTLP_SERVICE_NAME', text, 'keystile', 'The name of the service in traces and metrics.'),
    standard: 'OTEL_SERVICE_NAME',
  },
  otlpInterval: {
    ...variable('OTLP_INTERVAL', duration(1000, HOUR_MS), '60s', 'How often metrics are sent to the collector.'),
    standard: 'OTEL_METRIC_EXPORT_INTERVAL',
  },
  otlpTraceRatio: variable(
    'OTLP_TRACE_RATIO',
    fraction,
    '0.01',
    'The share of verifications that are traced. All management calls are traced.',
  ),
} as const satisfies Record<string, Variable<unknown, string | null>>;

/** Every setting. The documentation, `--help` and the printed configuration are generated from this table. */
export const VARIABLES = {
  host: variable('HOST', text, '127.0.0.1', 'Address to listen on.'),
  port: variable('PORT', port, '7878', 'Port to listen on; 0 chooses a free port.'),
  tlsCert: variable(
    'TLS_CERT',
    fileOf('certificate'),
    null,
    'File with the certificate of the service in PEM form, followed by those of its authorities. With it, the service speaks HTTPS only. New files are used for new connections within seconds.',
  ),
  tlsKey: variable(
    'TLS_KEY',
    fileOf('key'),
    null,
    'File with the private key of the certificate in PEM form, without a passphrase.',
  ),
  tlsMinVersion: variable(
    'TLS_MIN_VERSION',
    choice('1.2', '1.3'),
    '1.2',
    'The oldest version of TLS that clients may speak. With 1.2, only suites with forward secrecy are offered.',
  ),
  hsts: variable(
    'HSTS',
    flag,
    'on',
    'Tell browsers to use HTTPS only (Strict-Transport-Security, for a year) if they reach the service by https:// and by a name or address other than this machine. A browser then uses HTTPS for every port of that host.',
  ),
  network: variable(
    'NETWORK',
    choice('public', 'private'),
    'public',
    'Who can reach the port. `private`: only machines that you trust; a start then does not warn about TLS and open verification.',
  ),
  publicUrl: variable(
    'PUBLIC_URL',
    publicUrl,
    null,
    'The URL of the service for clients; used in links. A service on a loopback address answers only to the host name of this URL and to names of this machine.',
  ),
  dashboard: variable(
    'DASHBOARD',
    flag,
    null,
    'Serve the dashboard at /dashboard. Default: on if the service listens on a loopback address, off otherwise.',
  ),
  ...PORTAL_VARIABLES,
  data: variable('DATA', text, './data', 'Folder of the embedded database; created with mode 0700.'),
  requireData: variable(
    'REQUIRE_DATA',
    flag,
    'off',
    'Refuse to start if there is no database yet, instead of beginning a new installation: a disk that is not mounted, or a wrong address, is then an error. Set it after the first start.',
  ),
  databaseUrl: secret(
    'DATABASE_URL',
    databaseUrl,
    'postgres://user:password@host:5432/database. Runs this process as one of several nodes on PostgreSQL, instead of the embedded database. Several hosts, separated by commas, are a primary and its standbys; the node uses the one that accepts writes.',
  ),
  databasePool: variable(
    'DATABASE_POOL',
    count(2, 100),
    '4',
    'Connections to PostgreSQL for management. A node uses eight more for verifications, local counts and notifications of changes.',
  ),
  allowFsyncOff: variable(
    'ALLOW_FSYNC_OFF',
    flag,
    'off',
    'Accept a PostgreSQL with fsync = off, which loses answered spends when its machine crashes. For tests, and for hosted databases that store their log elsewhere.',
  ),
  location: variable('LOCATION', text, null, 'Label of this location. Default: the host name.'),
  rootKey: secret(
    'ROOT_KEY',
    text,
    'The first root key, at least 24 characters, instead of a generated one. The command line uses it too. Required for the first start on PostgreSQL without a terminal.',
  ),
  url: variable(
    'URL',
    publicUrl,
    null,
    'The URL of the service for the command line. Default: the configured address.',
  ),
  verifyAuth: variable(
    'VERIFY_AUTH',
    choice('open', 'required'),
    'open',
    'With `required`, verifying needs a root key with the right verify_key.',
  ),
  pepper: secret<readonly Pepper[]>(
    'PEPPER',
    peppers,
    'Secret mixed into the digests of keys, as version:secret. Older versions may follow, separated by commas.',
  ),
  metricsHost: variable(
    'METRICS_HOST',
    text,
    '127.0.0.1',
    'Address of the Prometheus metrics. An address other than loopback requires KEYSTILE_METRICS_TOKEN.',
  ),
  metricsPort: variable('METRICS_PORT', port, '7879', 'Port of the Prometheus metrics; 0 chooses a free port.'),
  metricsToken: secret('METRICS_TOKEN', text, 'If set, reading the metrics requires this bearer token.'),
  logLevel: variable(
    'LOG_LEVEL',
    choice('debug', 'info', 'warn', 'error'),
    'info',
    'The lowest level of messages that are written. SIGHUP reads it again from the file of `--env-file`.',
  ),
  logFormat: variable(
    'LOG_FORMAT',
    choice('text', 'json'),
    null,
    'The format of the log. Default: `text` on a terminal, `json` otherwise. With `json` set here, the log begins with the configuration.',
  ),
  corsOrigins: variable(
    'CORS_ORIGINS',
    origins,
    null,
    'Origins whose pages may call the service from a browser, separated by commas; `*` allows all.',
  ),
  trustedProxies: variable(
    'TRUSTED_PROXIES',
    addressBlocks,
    null,
    'Proxies whose X-Forwarded-For is trusted, separated by commas.',
  ),
  stopDelay: variable(
    'STOP_DELAY',
    duration(0, HOUR_MS),
    null,
    'How long the service keeps answering after SIGTERM, while `/v1/readiness` is 503 and every answer says `Connection: close`. Set it longer than your balancer takes to notice. A second signal ends the delay. Default: 5s with KEYSTILE_TRUSTED_PROXIES or on an address other than loopback, 0 otherwise.',
  ),
  timezone: variable('TIMEZONE', timezone, 'UTC', 'Time zone of refills that do not name one.'),
  identitiesMustExist: variable(
    'IDENTITIES_MUST_EXIST',
    flag,
    'off',
    'Refuse a key whose `externalId` is unknown, with 404. Otherwise such a key creates the customer, so a typo creates a new one.',
  ),
  defaultPlan: variable(
    'DEFAULT_PLAN',
    text,
    null,
    'The plan of every new customer, by its name or id. While there is no such plan, creating a customer answers 412, and `keystile doctor` says so. Default: a new customer has no plan, and keys without their own bounds are unlimited.',
  ),
  ratelimitHeaders: variable(
    'RATELIMIT_HEADERS',
    flag,
    'on',
    'Send RateLimit headers with verifications of keys that have rate limits.',
  ),
  syncInterval: variable(
    'SYNC_INTERVAL',
    duration(10, 60_000),
    '250ms',
    'How often local counts are saved or exchanged with other nodes in the background. With the embedded database, saving takes at most a twentieth of the time.',
  ),
  staleMax: variable(
    'STALE_MAX',
    duration(100, 24 * HOUR_MS),
    '1s',
    'How long a node may use cached keys without news from a shared database, and so how long a revoked key can stay valid on other nodes. After that the node answers 503, so set it longer than a round trip to the database. It has no effect on the embedded database.',
  ),
  maxConnections: variable(
    'MAX_CONNECTIONS',
    count(1, 1_000_000),
    '20000',
    'Client connections at one time. A further connection is answered with 503 and closed. A low limit of open files allows fewer; the start says how many, and warns if this setting is given.',
  ),
  maxConnectionsPerAddress: variable(
    'MAX_CONNECTIONS_PER_ADDRESS',
    count(1, 1_000_000),
    null,
    'Connections of one address (for IPv6, of one /64 block) at one time. A further connection is answered with 503 and closed. This machine and KEYSTILE_TRUSTED_PROXIES are exempt. Default: a quarter of all connections, at least 100.',
  ),
  maxWaiting: variable(
    'MAX_WAITING',
    count(1, 1_000_000),
    '20000',
    'Spends and changes that may wait for the ledger. A further one is answered with 503 at once.',
  ),
  maxCachedKeys: variable('MAX_CACHED_KEYS', count(1, 10_000_000), '1000000', 'Keys kept in memory.'),
  maxLocalCounters: variable(
    'MAX_LOCAL_COUNTERS',
    count(1, 10_000_000),
    '1000000',
    'Keys, customers and identifiers whose local limits are counted at one time.',
  ),
  maxLimitsPerNamespace: variable(
    'MAX_LIMITS_PER_NAMESPACE',
    count(1, 100_000_000),
    '1000000',
    'Counters of standalone limits in one namespace. Local ones use at most a quarter of KEYSTILE_MAX_LOCAL_COUNTERS in one namespace, and half of it in all namespaces.',
  ),
  idempotencyRetention: variable(
    'IDEMPOTENCY_RETENTION',
    duration(1000, 168 * HOUR_MS),
    '1h',
    'The shortest time that an idempotency key is remembered.',
  ),
  maxKeys: variable(
    'MAX_KEYS',
    count(0, 1_000_000_000),
    null,
    'The largest number of keys in this installation. Default: no quota.',
  ),
  maxApis: variable(
    'MAX_APIS',
    count(0, 1_000_000),
    null,
    'The largest number of apis in this installation. Default: no quota.',
  ),
  maxVerificationsPerSecond: variable(
    'MAX_VERIFICATIONS_PER_SECOND',
    count(1, 1_000_000),
    null,
    'Keys that one root key may verify in a second on one node. If verifying needs no root key, the quota is that of one address (for IPv6, of one /64 block). Behind KEYSTILE_TRUSTED_PROXIES, the address of the client counts. Default: no quota.',
  ),
  maxManagementCallsPerSecond: variable(
    'MAX_MANAGEMENT_CALLS_PER_SECOND',
    count(1, 1_000_000),
    '5000',
    'Management calls that one root key may make in a second on one node. Sessions of the dashboard count for their root key. Taking standalone limits and ending reservations do not count. A further call is answered with 429.',
  ),
  maxManagementBytesPerSecond: variable(
    'MAX_MANAGEMENT_BYTES_PER_SECOND',
    count(MAX_IMPORT_BODY_BYTES, 1_000_000_000_000),
    '67108864',
    'Bytes in the bodies of the management calls that one root key may make in a second on one node. The minimum is the size of the longest body.',
  ),
  analytics: variable('ANALYTICS', flag, 'on', 'Count verifications, and keep `lastUsedAt` of keys.'),
  analyticsMinutes: variable(
    'ANALYTICS_MINUTES',
    duration(HOUR_MS, 3650 * DAY_MS),
    '2d',
    'How long counts by minute are kept.',
  ),
  analyticsHours: variable(
    'ANALYTICS_HOURS',
    duration(HOUR_MS, 3650 * DAY_MS),
    '60d',
    'How long counts by hour are kept.',
  ),
  analyticsDays: variable(
    'ANALYTICS_DAYS',
    duration(DAY_MS, 3650 * DAY_MS),
    '800d',
    'How long counts by day are kept.',
  ),
  analyticsTagLists: variable(
    'ANALYTICS_TAG_LISTS',
    count(0, 100_000),
    '1000',
    'The number of different tag lists that are counted for one api in a day. All further ones are counted under `other`.',
  ),
  encryptionKey: secret(
    'ENCRYPTION_KEY',
    encryptionKeys,
    'Encrypts the signing secrets of webhooks in the database. On PostgreSQL, webhooks need it, the same on every node. Without it, the embedded database creates its own key in the data folder, the file `encryption-key`. To change the key, set the new one before the old one, separated by a comma.',
  ),
  webhookAllowPrivate: variable(
    'WEBHOOK_ALLOW_PRIVATE',
    flag,
    'off',
    'Allow webhooks to targets that are not on the public internet (loopback, private networks), and over plain http.',
  ),
  eventRetention: variable(
    'EVENT_RETENTION',
    duration(4 * DAY_MS, 3650 * DAY_MS),
    '30d',
    'How long events are kept for webhooks and `events.listEvents`.',
  ),
  statementRetention: variable(
    'STATEMENT_RETENTION',
    duration(DAY_MS, 3650 * DAY_MS),
    '761d',
    'How long the lines of statements are kept for `usage.getStatement`. The default is 25 months.',
  ),
  auditRetention: variable(
    'AUDIT_RETENTION',
    duration(DAY_MS, 3650 * DAY_MS),
    null,
    'How long entries of the audit log are kept. Default: for ever. `keystile audit export` writes them to a file before they are removed.',
  ),
  ...BACKUP_VARIABLES,
  ...TELEMETRY_VARIABLES,
  acceptLostCommits: variable(
    'ACCEPT_LOST_COMMITS',
    flag,
    'off',
    'Accept a database that has lost commits or is a copy from another folder (a restored backup). Set it for one start only.',
  ),
} as const satisfies Record<string, Variable<unknown, string | null>>;

export type Setting = keyof typeof VARIABLES;

type ValueOf<S extends Setting> = (typeof VARIABLES)[S] extends Variable<infer T, string | null> ? T : never;

type Fallback<S extends Setting> = (typeof VARIABLES)[S]['fallback'];

/** Settings with a default always have a value. The others may be null. */
export type Config = {
  readonly [S in Setting]: ValueOf<S> | (null extends Fallback<S> ? null : never);
} & { readonly origins: Readonly<Record<Setting, Origin>> };

/** `logLevel` as a flag: `--log-level`. */
export function flagName(setting: Setting): string {
  return `--${VARIABLES[setting].name.slice('KEYSTILE_'.length).toLowerCase().replaceAll('_', '-')}`;
}
