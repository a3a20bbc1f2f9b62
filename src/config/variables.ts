import {
  addressBlocks,
  choice,
  count,
  duration,
  flag,
  type Kind,
  origins,
  type Pepper,
  peppers,
  port,
  publicUrl,
  text,
  timezone,
} from './kinds.ts';

interface Variable<T, F extends string | null> {
  readonly name: string;
  readonly kind: Kind<T>;
  /** Text of the default, as a person would write it; null = none. */
  readonly fallback: F;
  readonly meaning: string;
  /** Never printed; can also be given as a file, through NAME_FILE. */
  readonly isSecret?: true;
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

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Every setting there is. The documentation, `--help` and the printed configuration are made from this table. */
export const VARIABLES = {
  host: variable('HOST', text, '127.0.0.1', 'Address to listen on.'),
  port: variable('PORT', port, '7878', 'Port to listen on; 0 takes a free one.'),
  httpServer: variable(
    'HTTP_SERVER',
    choice('front', 'runtime'),
    'front',
    'What reads requests: `front`, the server of Keystile itself, or `runtime`, the one of Bun. The second is slower; it shows whether a problem comes from the first.',
  ),
  publicUrl: variable('PUBLIC_URL', publicUrl, null, 'How clients reach the service; used in links.'),
  data: variable('DATA', text, './data', 'Folder of the embedded database; made with mode 0700.'),
  databaseUrl: secret(
    'DATABASE_URL',
    text,
    'postgres://user:password@host:5432/database: one node of many on PostgreSQL, instead of the embedded database. Several hosts, separated by commas, are copies of which one takes writes.',
  ),
  databasePool: variable(
    'DATABASE_POOL',
    count(2, 100),
    '4',
    'Connections to PostgreSQL for management; eight more are for verifications, local counts and hearing of changes.',
  ),
  allowFsyncOff: variable(
    'ALLOW_FSYNC_OFF',
    flag,
    'off',
    'Serve a PostgreSQL with fsync = off, which loses answered spends when its machine crashes. For tests, and for hosted databases that keep their log elsewhere.',
  ),
  location: variable('LOCATION', text, null, 'Label of this location; the host name when not set.'),
  rootKey: secret(
    'ROOT_KEY',
    text,
    'The first root key, at least 24 characters, instead of a generated one; also what the command line uses. On PostgreSQL, a first start without a terminal needs it.',
  ),
  url: variable(
    'URL',
    publicUrl,
    null,
    'Where the command line finds the service; the configured address when not set.',
  ),
  verifyAuth: variable(
    'VERIFY_AUTH',
    choice('open', 'required'),
    'open',
    '`required`: verifying needs a root key with the right verify_key.',
  ),
  pepper: secret<readonly Pepper[]>(
    'PEPPER',
    peppers,
    'Secret mixed into the digests of keys, as version:secret; older versions may follow, comma-separated.',
  ),
  metricsHost: variable(
    'METRICS_HOST',
    text,
    '127.0.0.1',
    'Address of the Prometheus metrics; another than loopback needs KEYSTILE_METRICS_TOKEN.',
  ),
  metricsPort: variable('METRICS_PORT', port, '7879', 'Port of the Prometheus metrics; 0 takes a free one.'),
  metricsToken: secret('METRICS_TOKEN', text, 'When set, reading the metrics needs it as a bearer token.'),
  logLevel: variable(
    'LOG_LEVEL',
    choice('debug', 'info', 'warn', 'error'),
    'info',
    'The least important messages that are written.',
  ),
  logFormat: variable(
    'LOG_FORMAT',
    choice('text', 'json'),
    null,
    '`text` on a terminal, `json` otherwise, when not set. A log that is set to `json` begins with the configuration.',
  ),
  corsOrigins: variable(
    'CORS_ORIGINS',
    origins,
    null,
    'Origins whose pages may call the service from a browser, comma-separated; `*` = all.',
  ),
  trustedProxies: variable(
    'TRUSTED_PROXIES',
    addressBlocks,
    null,
    'Proxies whose X-Forwarded-For is believed, comma-separated.',
  ),
  timezone: variable('TIMEZONE', timezone, 'UTC', 'The zone of refills that name none.'),
  ratelimitHeaders: variable('RATELIMIT_HEADERS', flag, 'on', 'RateLimit headers on verifications of limited keys.'),
  syncInterval: variable(
    'SYNC_INTERVAL',
    duration(10, 60_000),
    '250ms',
    'How often local counts are saved, or exchanged with other nodes, behind the requests. Alone, a node spends at most a twentieth of its time on it.',
  ),
  staleMax: variable(
    'STALE_MAX',
    duration(100, 24 * HOUR_MS),
    '1s',
    'How old the knowledge of a node may be where several share a database: how long a revoked key may live on. A node that hears nothing for longer answers 503, so it has to be longer than a round trip to the database. Alone, a node is never stale.',
  ),
  maxConnections: variable(
    'MAX_CONNECTIONS',
    count(1, 1_000_000),
    '20000',
    'Connections of clients at one time; one more is answered 503 and closed. The limit of open files may allow fewer: the start warns then.',
  ),
  maxWaiting: variable(
    'MAX_WAITING',
    count(1, 1_000_000),
    '20000',
    'Spends and changes that may wait for the ledger; one more is answered 503 at once.',
  ),
  maxCachedKeys: variable('MAX_CACHED_KEYS', count(1, 10_000_000), '1000000', 'Keys kept in memory.'),
  maxLocalCounters: variable(
    'MAX_LOCAL_COUNTERS',
    count(1, 10_000_000),
    '1000000',
    'Keys, identities and identifiers whose local limits are counted at one time.',
  ),
  maxLimitsPerNamespace: variable(
    'MAX_LIMITS_PER_NAMESPACE',
    count(1, 100_000_000),
    '1000000',
    'Counters of standalone limits in one namespace; local ones take at most a quarter of KEYSTILE_MAX_LOCAL_COUNTERS, and half in all namespaces together.',
  ),
  idempotencyRetention: variable(
    'IDEMPOTENCY_RETENTION',
    duration(1000, 168 * HOUR_MS),
    '1h',
    'How long an idempotency key is remembered at least.',
  ),
  maxKeys: variable(
    'MAX_KEYS',
    count(0, 1_000_000_000),
    null,
    'Keys that this installation may hold; no quota when not set.',
  ),
  maxApis: variable(
    'MAX_APIS',
    count(0, 1_000_000),
    null,
    'Apis that this installation may hold; no quota when not set.',
  ),
  maxVerificationsPerSecond: variable(
    'MAX_VERIFICATIONS_PER_SECOND',
    count(1, 1_000_000),
    null,
    'Keys that one root key may verify in a second on one node, where `KEYSTILE_VERIFY_AUTH` is `required`; no quota when not set.',
  ),
  analytics: variable('ANALYTICS', flag, 'on', 'Verifications are counted, and keys have a `lastUsedAt`.'),
  analyticsMinutes: variable(
    'ANALYTICS_MINUTES',
    duration(HOUR_MS, 3650 * DAY_MS),
    '2d',
    'How long verifications stay counted by the minute.',
  ),
  analyticsHours: variable(
    'ANALYTICS_HOURS',
    duration(HOUR_MS, 3650 * DAY_MS),
    '60d',
    'How long verifications stay counted by the hour.',
  ),
  analyticsDays: variable(
    'ANALYTICS_DAYS',
    duration(DAY_MS, 3650 * DAY_MS),
    '800d',
    'How long verifications stay counted by the day.',
  ),
  analyticsTagLists: variable(
    'ANALYTICS_TAG_LISTS',
    count(0, 100_000),
    '1000',
    'Different tag lists that verifications of one api are counted under in a day; the rest count under `other`.',
  ),
  acceptLostCommits: variable(
    'ACCEPT_LOST_COMMITS',
    flag,
    'off',
    'Serve a database that has lost commits or is a copy from another folder (a restored backup). Set it for one start.',
  ),
} as const satisfies Record<string, Variable<unknown, string | null>>;

export type Setting = keyof typeof VARIABLES;

type ValueOf<S extends Setting> = (typeof VARIABLES)[S] extends Variable<infer T, string | null> ? T : never;

type Fallback<S extends Setting> = (typeof VARIABLES)[S]['fallback'];

/** Settings with a default always have a value; the others may be null. */
export type Config = {
  readonly [S in Setting]: ValueOf<S> | (null extends Fallback<S> ? null : never);
};

/** `logLevel` as a flag: `--log-level`. */
export function flagName(setting: Setting): string {
  return `--${VARIABLES[setting].name.slice('KEYSTILE_'.length).toLowerCase().replaceAll('_', '-')}`;
}
