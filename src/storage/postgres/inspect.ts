import type { Client } from 'pg';

import { type InspectedRecords, inspectRecords } from '../sql/inspectRecords.ts';
import { findUseRefusal, type UseRefusal } from '../sql/move/importedNote.ts';
import type { SqlReader, Statement } from '../sql/query/statement.ts';
import { Connector, withDeadline } from './connection/connector.ts';
import { causeOf } from './connection/databaseError.ts';
import { parseAddress } from '../../core/databaseUrl.ts';
import { Durability, DURABILITY_COLUMNS, type DurabilityFacts } from './connection/durability.ts';
import { requireOwnSessions } from './connection/ownSession.ts';
import type { Ask } from './connection/pool.ts';
import { listNodes, type NodeRecord, oldestTransactionMs } from './freshness/nodes.ts';
import { isOfFirstRelease, readInstallation } from './schema/migrate.ts';
import { SCHEMA_NAMES, SCHEMA_VERSION } from './schema/schema.ts';
import { findMissingCreation, findMissingRight, hasTables } from './schema/tableRights.ts';

/** No statement of an inspection takes long or waits for others. */
const SETTINGS = { statement_timeout: '2000', lock_timeout: '500' };
const LOOK_WITHIN_MS = 5_000;

/** What an inspection of a shared database finds, whether or not nodes use it. */
export interface InspectedPostgres {
  /** The time of the database minus that of this machine. */
  readonly clockMs: number;
  readonly nowMs: number;
  /** The main number of the version. */
  readonly version: number;
  /** Settings that weaken a promise. */
  readonly warnings: readonly string[];
  readonly standby: { readonly awaited: string; readonly synchronous: number | null };
  readonly freeSessions: number;
  readonly oldestTransactionMs: number;
  readonly schema: {
    readonly version: number;
    readonly compatibleFrom: number;
    readonly own: number;
    readonly isForeign: boolean;
  };
  /** Why a start refuses the database, because it was moved or its import is not finished; null = it does not. */
  readonly useRefusal: UseRefusal | null;
  /** What a node does and this role may not do; null = nothing. */
  readonly missingRight: string | null;
  /** Null: this program knows none of the tables, or this role may not read them. */
  readonly contents: (InspectedRecords & { readonly nodes: readonly NodeRecord[] }) | null;
}

interface InspectOptions {
  readonly url: string;
  readonly allowFsyncOff: boolean;
  readonly wallClockMs: () => number;
}

/** Reads from the server that takes writes, and writes nothing. If there is no such server, it rejects as a start does. */
export async function inspectPostgres(options: InspectOptions): Promise<InspectedPostgres> {
  const connector = new Connector(parseAddress(options.url), 'doctor');
  const client = await connector.connect(SETTINGS);
  try {
    await withDeadline(
      client,
      LOOK_WITHIN_MS,
      requireOwnSessions(client, () => connector.connect({})),
    );
    return await withDeadline(client, LOOK_WITHIN_MS, look(client, options));
  } finally {
    await client.end();
  }
}

async function look(client: Client, { allowFsyncOff, wallClockMs }: InspectOptions): Promise<InspectedPostgres> {
  await client.query('SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY');
  const askedAtMs = wallClockMs();
  const server = await readServer(client);
  const answeredAtMs = wallClockMs();
  const durability = new Durability(allowFsyncOff);
  durability.note(server);
  const isEmpty = !(await hasTables(client));
  const known = isEmpty ? new Map<string, string>() : await readInstallation(client);
  const schema = schemaOf(known);
  const isKnown = schema.version >= SCHEMA_VERSION && !schema.isForeign && schema.compatibleFrom <= SCHEMA_VERSION;
  const missingRight =
    (await findMissingCreation(client)) ?? (isKnown ? await findMissingRight(client, SCHEMA_NAMES) : null);
  return {
    nowMs: server.now_ms,
    clockMs: server.now_ms - Math.round((askedAtMs + answeredAtMs) / 2),
    version: server.version,
    warnings: [durability.unsafeReason, ...durability.warnings].filter((warning) => warning !== null),
    standby: { awaited: server.awaited, synchronous: await readSynchronous(client) },
    freeSessions: server.free_sessions,
    oldestTransactionMs: await oldestTransactionMs(poolOf(client)),
    schema,
    useRefusal: findUseRefusal('The database', known),
    missingRight,
    contents: isKnown ? await readContents(client, missingRight !== null) : null,
  };
}

/** What a role may not read stays unknown. */
async function readContents(client: Client, lacksRights: boolean): Promise<InspectedPostgres['contents']> {
  try {
    return { ...(await inspectRecords(readerOf(client))), nodes: (await listNodes(poolOf(client))).nodes };
  } catch (error) {
    if (lacksRights && causeOf(error) === 'rights') return null;
    throw error;
  }
}

interface ServerRow extends DurabilityFacts {
  readonly version: number;
  readonly awaited: string;
  readonly now_ms: number;
  readonly free_sessions: number;
}

async function readServer(client: Client): Promise<ServerRow> {
  // The connection of this inspection is free again afterwards. Not every version knows reserved_connections.
  const { rows } = await client.query<ServerRow>(`SELECT ${DURABILITY_COLUMNS},
    current_setting('synchronous_standby_names') AS awaited,
    (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms,
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      - coalesce(current_setting('reserved_connections', true), '0')::int
      - (SELECT sum(numbackends) FROM pg_stat_database)::int + 1 AS free_sessions,
    current_setting('server_version_num')::int / 10000 AS version`);
  const [row] = rows;
  if (row === undefined) throw new Error('no answer');
  return row;
}

/** Standbys that take part in commits; null = this user may not see them. */
async function readSynchronous(client: Client): Promise<number | null> {
  const { rows } = await client.query<{ synchronous: number; hidden: number }>(
    `SELECT count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) AS synchronous,
      count(*) FILTER (WHERE sync_state IS NULL) AS hidden FROM pg_stat_replication`,
  );
  const [row] = rows;
  return row === undefined || row.hidden > 0 ? null : row.synchronous;
}

function schemaOf(known: ReadonlyMap<string, string>): InspectedPostgres['schema'] {
  const version = Number(known.get('schema_version') ?? 0);
  return {
    version,
    compatibleFrom: Number(known.get('schema_compatible_from') ?? 0),
    own: SCHEMA_VERSION,
    isForeign: version > 0 && !isOfFirstRelease(known),
  };
}

function poolOf(client: Client): { readonly query: Ask } {
  return { query: ((query: string) => client.query(query)) as unknown as Ask };
}

function readerOf(client: Client): SqlReader {
  const find = async <T>({ sql, params }: Statement): Promise<T[]> => (await client.query(sql, params)).rows as T[];
  return { find, scan: find };
}
