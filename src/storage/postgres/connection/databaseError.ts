import { DatabaseError } from 'pg';

import { FOREIGN_SESSION } from './ownSession.ts';
import { type RefusalCause, StorageOutcomeUnknown, StorageUnavailable } from '../../port/storage.ts';

/** The connection broke or did not answer in time. The query may have been done. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
}

/**
 *   lost         the connection is gone; the outcome of what was sent is not known
 *   readonly     it leads to a server that takes no writes (any more): nothing was done, find the primary
 *   refused      the statement itself was refused (a constraint, a number out of range): nothing was done, and a retry would end the same
 *   busy         rows were held by others for too long: nothing was done
 *   rolled back  two transactions were in each other's way: nothing was done, and a retry may succeed
 *   unable       the server cannot now (full disk, too many connections, a time limit): nothing was done
 */
type DatabaseErrorKind = 'lost' | 'readonly' | 'refused' | 'busy' | 'rolled back' | 'unable';

/** The answer of a prepared statement would have other columns: a newer node has migrated the database since it was prepared. */
const OTHER_COLUMNS = '0A000';

/** The role lacks a privilege, or may use no schema. */
const WITHOUT_RIGHT = /^(?:42501|3F000)$/;
/** Missing tables, columns, functions and operators; names that are taken; columns of another type or without a constraint. */
const AT_OTHER_TABLES = /^(?:42P01|42703|42883|42P07|42710|42723|42804|42809|42P10)$/;
/** Values that a table refuses. If only Keystile's own values are written, the table belongs to another program. */
const REFUSED_VALUE = /^(?:22001|22003|22P02|23502|23505|23514)$/;
/** A foreign session, recognized by itself or by its prepared statements. */
const IN_FOREIGN_SESSION = new RegExp(`^(?:${FOREIGN_SESSION}|26000|42P05)$`);
/** Wrong statements. Keystile's statements are right for every database that it supports. */
const WRONG_STATEMENT = /^42/;

const ADVICE: Readonly<Record<RefusalCause, string>> = {
  rights: 'Connect as the role that owns the tables. In an empty database, give this role the right to create tables.',
  tables: 'Its tables are not those of Keystile. Check KEYSTILE_DATABASE_URL.',
  pooler: 'Let KEYSTILE_DATABASE_URL name PostgreSQL itself, or set pool_mode = session in the pooler.',
};

/** By SQLSTATE, the longest prefix that matches. A session that the server ends (57P0x) may have committed before. */
const KINDS: readonly (readonly [prefix: string, kind: DatabaseErrorKind])[] = [
  ['08', 'lost'],
  ['40003', 'lost'],
  ['25P03', 'lost'],
  ['57P0', 'lost'],
  ['25006', 'readonly'],
  ['55P03', 'busy'],
  ['40', 'rolled back'],
  [OTHER_COLUMNS, 'rolled back'],
  ['21', 'refused'],
  ['22', 'refused'],
  ['23', 'refused'],
  ['XX00', 'refused'],
];

export function kindOf(error: unknown): DatabaseErrorKind {
  const code = stateOf(error);
  if (code === null) return 'lost';
  return KINDS.find(([prefix]) => code.startsWith(prefix))?.[1] ?? 'unable';
}

/** Nothing was done. The statement must be prepared again, which a new connection does. */
export function hasOtherColumns(error: unknown): boolean {
  return stateOf(error) === OTHER_COLUMNS;
}

/** The error already has a message for the caller. */
export function isStorageError(error: unknown): error is Error {
  return error instanceof StorageUnavailable || error instanceof StorageOutcomeUnknown;
}

/** The SQLSTATE; null = the error does not come from the server. */
export function stateOf(error: unknown): string | null {
  return error instanceof DatabaseError ? (error.code ?? '') : null;
}

export function causeOf(error: unknown): RefusalCause | null {
  if (error instanceof StorageUnavailable) return error.refusedFor;
  const state = stateOf(error) ?? '';
  if (WITHOUT_RIGHT.test(state)) return 'rights';
  if (IN_FOREIGN_SESSION.test(state)) return 'pooler';
  return AT_OTHER_TABLES.test(state) ? 'tables' : null;
}

/** What to do about a statement that the database would always refuse; null = unknown. */
export function adviceOnRefusal(error: unknown): string | null {
  const cause = causeOf(error);
  if (cause !== null) return ADVICE[cause];
  return WRONG_STATEMENT.test(stateOf(error) ?? '') ? 'Check KEYSTILE_DATABASE_URL.' : null;
}

/** The same if Keystile writes only its own values, and none of a caller. */
export function adviceOnOwnRefusal(error: unknown): string | null {
  return adviceOnRefusal(error) ?? (REFUSED_VALUE.test(stateOf(error) ?? '') ? ADVICE.tables : null);
}

/** Poolers have no SQLSTATE for this, and do not translate the message. PostgreSQL names the setting that it does not know. */
export function isRefusedStart(error: unknown): boolean {
  const state = stateOf(error) ?? '';
  if (!(error instanceof Error)) return false;
  return state === '42704' || (state.startsWith('08') && /start-?up parameter/i.test(error.message));
}

/** The error in one line, without the statement that was sent. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  const text = error instanceof Error ? error.message || error.name : String(error);
  const code = stateOf(error);
  return (text.split('\n')[0] ?? '') + (code ? ` [${code}]` : '');
}

/** A read that fails has done nothing. */
export async function asUnavailable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error;
    throw new StorageUnavailable(`A database query failed (${reasonOf(error)}).`, causeOf(error));
  }
}
