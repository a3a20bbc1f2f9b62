import { WrongServer, RefusedStart, OldServer } from './wrongServer.ts';
import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { Client, type ClientConfig, types } from 'pg';

import { AddressError, type DatabaseAddress } from '../../../core/databaseUrl.ts';
import { StorageUnavailable } from '../../port/storage.ts';
import { ConnectionLost, isRefusedStart, reasonOf } from './databaseError.ts';
import { MARK_SESSION, markSession } from './ownSession.ts';

/** The oldest PostgreSQL that its makers support. */
export const OLDEST_VERSION = 14;

const KEEP_ALIVE_AFTER_MS = 10_000;
/** A pooler may by luck lend the right session for a while. So a foreign session is reported for this long. */
const SHOW_FOREIGN_MS = 60_000;

/** Whole numbers are read as numbers: no column holds one above 2^53. */
const INT8 = 20;
const TYPES: ClientConfig['types'] = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    return oid === INT8 ? Number : (types.getTypeParser(oid, format) as (value: string) => unknown);
  },
};

/** Settings of a session, under the server's names. */
export type Settings = Readonly<Record<string, string>>;

interface ServerFacts {
  readonly session: string;
  readonly is_standby: boolean;
  readonly version: number;
  /** Grows with every promotion. */
  readonly timeline: number;
  readonly pid: number;
  /** Microseconds since 1970. */
  readonly started_at: number;
}

/** A process of a server. Its id alone is not enough: this server, or one promoted later, may have used it again. */
export interface Backend {
  readonly pid: number;
  readonly startedAt: number;
}

/** Set for every session: a node that vanishes in the middle of a change must not keep its rows locked. */
const ALWAYS: Settings = {
  idle_in_transaction_session_timeout: '5000',
  tcp_keepalives_idle: '5',
  tcp_keepalives_interval: '2',
  tcp_keepalives_count: '3',
};

/**
 * Every connection sets what its answers depend on: a commit is reported when it is on disk (a stronger default is kept), and warnings are
 * reported (commitNotices.ts). These settings hold until the connection ends, whatever ALTER SYSTEM, ALTER ROLE or a reload change
 * meanwhile. They are not sent with the start of the connection, because poolers refuse or silently drop such parameters.
 */
const check = (settings: Settings): string => `SELECT ${MARK_SESSION},
  (SELECT count(set_config(s.name, s.value, false)) FROM (VALUES ${valuesOf(settings)}) AS s (name, value)) AS settings,
  pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS is_standby,
  current_setting('server_version_num')::int AS version,
  set_config('synchronous_commit',
    CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false) AS synchronous_commit,
  set_config('client_min_messages', 'warning', false) AS client_min_messages,
  pg_backend_pid() AS pid,
  (SELECT (extract(epoch FROM backend_start) * 1000000)::bigint FROM pg_stat_get_activity(pg_backend_pid())) AS started_at,
  CASE WHEN pg_is_in_recovery() THEN 0
    ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END AS timeline`;

function valuesOf(settings: Settings): string {
  return Object.entries(settings)
    .map(([name, value]) => `('${name}', '${value}')`)
    .join(', ');
}

/** The socket that the driver is given and writes to. With TLS, the driver encrypts what it writes. */
const SOCKETS = new WeakMap<Client, Socket>();

/** Opens connections to the server that takes writes, whichever host that is now. */
export class Connector {
  readonly #address: DatabaseAddress;
  readonly #rootCertificates: string | null;
  readonly #node: string;
  /** The host on which the primary was last found. It is tried first. */
  #first = 0;
  #timeline = 0;
  #foreignAtMs = -Infinity;
  readonly #backends = new WeakMap<Client, Backend>();

  constructor(address: DatabaseAddress, node: string) {
    this.#address = address;
    this.#node = node;
    this.#rootCertificates = address.tlsRootFile === null ? null : readRootFile(address.tlsRootFile);
  }

  /** The newest timeline seen. A server on an older one is no longer the primary. */
  get timeline(): number {
    return this.#timeline;
  }

  /** The process behind a connection; null = unknown. */
  backendOf(client: Client): Backend | null {
    return this.#backends.get(client) ?? null;
  }

  /** Called when a connection has met a foreign session. */
  noteForeignSession(nowMs: number): void {
    this.#foreignAtMs = nowMs;
  }

  /** Whether a connection has met one recently. */
  meetsForeignSessions(nowMs: number): boolean {
    return nowMs - this.#foreignAtMs < SHOW_FOREIGN_MS;
  }

  /** The name of this node's sessions on the server. */
  get sessionName(): string {
    return `${this.#address.applicationName} ${this.#node}`.slice(0, 63);
  }

  /** Checks whether another host has become the primary, which the present one may not have noticed. */
  async lookAround(): Promise<void> {
    if (this.#address.hosts.length < 2) return;
    await Promise.all(
      this.#address.hosts.map(async ({ host, port }, number) => {
        if (number === this.#first) return;
        const client = await this.#open(host, port, {}).catch(() => null);
        await client?.end();
      }),
    );
  }

  /** The hosts in words, for messages: never the password. */
  get where(): string {
    return this.#address.hosts.map(({ host, port }) => `${host}:${port}`).join(', ');
  }

  /** Rejects with StorageUnavailable when none of the hosts takes writes. */
  async connect(settings: Settings, pipeline = false): Promise<Client> {
    const { hosts } = this.#address;
    const reasons: string[] = [];
    for (let i = 0; i < hosts.length; i++) {
      const number = (this.#first + i) % hosts.length;
      const { host, port } = hosts[number] as (typeof hosts)[number];
      try {
        const client = await this.#open(host, port, settings, pipeline);
        this.#first = number;
        return client;
      } catch (error) {
        if (error instanceof WrongServer) throw error;
        reasons.push(`${host}:${port}: ${reasonOf(error)}`);
      }
    }
    throw new StorageUnavailable(`The database cannot be reached (${reasons.join('; ')}).`);
  }

  async #open(host: string, port: number, settings: Settings, pipeline = false): Promise<Client> {
    const { user, password, database, connectTimeoutMs } = this.#address;
    const socket = new Socket();
    const client = new Client({
      stream: () => socket,
      host,
      port,
      user,
      password: password ?? '',
      database,
      ssl: this.#tls(),
      application_name: this.sessionName,
      connectionTimeoutMillis: connectTimeoutMs,
      keepAlive: true,
      // Without this, a command that waits for a dead host would wait for hours.
      keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
      types: TYPES,
      pipeline,
    });
    SOCKETS.set(client, socket);
    // A query in flight reports this. Between two queries, the next one notices.
    client.on('error', () => {});
    try {
      await client.connect().catch((error: unknown) => {
        throw isRefusedStart(error) ? new RefusedStart(reasonOf(error)) : error;
      });
      await this.#check(client, { ...ALWAYS, ...settings }, connectTimeoutMs);
      return client;
    } catch (error) {
      destroy(client);
      throw error;
    }
  }

  async #check(client: Client, settings: Settings, timeoutMs: number): Promise<void> {
    const { rows } = await withDeadline(client, timeoutMs, client.query<ServerFacts>(check(settings)));
    const [facts] = rows;
    if (facts === undefined) throw new Error('no answer');
    const version = Math.floor(facts.version / 10_000);
    if (version < OLDEST_VERSION) throw new OldServer(version, OLDEST_VERSION);
    if (facts.is_standby) throw new Error('accepts no writes (a standby, or read-only)');
    if (facts.timeline < this.#timeline) throw new Error('was the primary before another one was promoted');
    this.#timeline = facts.timeline;
    markSession(client, facts.session);
    this.#backends.set(client, { pid: facts.pid, startedAt: facts.started_at });
  }

  #tls(): ClientConfig['ssl'] {
    const { tls } = this.#address;
    if (tls === 'off') return false;
    return {
      rejectUnauthorized: tls === 'verified',
      ...(this.#rootCertificates === null ? {} : { ca: this.#rootCertificates }),
    };
  }
}

function readRootFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = (error as { code?: string }).code ?? String(error);
    throw new AddressError(`names the sslrootcert ${path}, which cannot be read (${code})`);
  }
}

/** Closes a connection at once. It is unknown what the server does with the last query. */
export function destroy(client: Client): void {
  SOCKETS.get(client)?.destroy();
}

/**
 * Collects everything that is sent meanwhile into one write, because each write is a system call and wakes the server. With TLS, each query
 * is its own write.
 */
export function inOneWrite<T>(client: Client, send: () => T): T {
  const socket = SOCKETS.get(client);
  socket?.cork();
  try {
    return send();
  } finally {
    socket?.uncork();
  }
}

/** Resolves with the answer, or rejects with ConnectionLost if it does not come in time. The connection is then no longer used. */
export function withDeadline<T>(client: Client, timeoutMs: number, answer: Promise<T>): Promise<T> {
  return whileItGoesOn(client, timeoutMs, () => answer);
}

/** The same for work whose time begins again whenever it reports progress. */
export function whileItGoesOn<T>(
  client: Client,
  timeoutMs: number,
  work: (goesOn: () => void) => Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      destroy(client);
      reject(new ConnectionLost(`no answer in ${timeoutMs} ms`));
    }, timeoutMs);
    const answer = work(() => void timer.refresh());
    void answer.finally(() => clearTimeout(timer)).then(resolve, reject);
  });
}
