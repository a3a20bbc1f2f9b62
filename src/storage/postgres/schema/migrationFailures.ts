import { StorageUnavailable } from '../../port/storage.ts';
import { adviceOnOwnRefusal, hasOtherColumns, kindOf, reasonOf, stateOf } from '../connection/databaseError.ts';
import { WrongServer } from '../connection/wrongServer.ts';

/** How far a migration came. From the indexes on, the new schema is committed, and a failure leaves it there. */
export type Stage = 'schema' | 'indexes';

/** SQLSTATEs: not supported, others depend on it, no schema, wrong or not allowed, raised by a function. */
const REFUSED_STATEMENT = /^(?:0A|2B|3F|42|P0)/;
/** Any failure inside the server, such as two sessions that alter the same object. Damage has states of its own. */
const INTERNAL_ERROR = 'XX000';

/** What can keep tables locked. A dump only reads, and indexes are built beside it. */
const HOLDERS: Readonly<Record<Stage, string>> = {
  schema: 'another transaction, such as a dump,',
  indexes: 'another transaction',
};

export function isWorthAnotherTry(error: unknown): boolean {
  const kind = kindOf(error);
  return kind === 'busy' || (kind === 'rolled back' && !hasOtherColumns(error));
}

/** For the log: it is tried again. */
export function stillLocked(stage: Stage): string {
  const what = stage === 'schema' ? 'the database is not migrated yet' : 'the indexes are not built yet';
  return `${what}: ${HOLDERS[stage]} keeps its tables locked`;
}

export function neverUnlocked(stage: Stage, version: number, tries: string): StorageUnavailable {
  const what = stage === 'schema' ? 'The schema of the database cannot be upgraded' : unbuilt(version);
  return new StorageUnavailable(
    `${what}: ${HOLDERS[stage]} kept its tables locked during ${tries}. Start again when it has ended.`,
  );
}

/** A start that failed outside the migration of a known schema. */
export function notPrepared(error: unknown): Error {
  const advice = adviceOnOwnRefusal(error);
  return failed(error, `The database cannot be prepared (${reasonOf(error)}).${advice === null ? '' : ` ${advice}`}`);
}

export function notMigrated(error: unknown, from: number, to: number): Error {
  return failed(
    error,
    `The database could not be migrated from schema version ${from} to ${to} (${reasonOf(error)}). ` +
      'It is as it was before, and nodes of the older version go on.',
  );
}

export function notBuilt(error: unknown, version: number): Error {
  const next = isFinal(error) ? 'Correct that, then start again.' : 'Start again: a start builds what is missing.';
  return failed(error, `${unbuilt(version)} (${reasonOf(error)}). ${next}`);
}

function unbuilt(version: number): string {
  return `The schema of the database is migrated to version ${version}, and its indexes are not built`;
}

function failed(error: unknown, message: string): Error {
  if (error instanceof WrongServer || error instanceof StorageUnavailable) return error;
  return isFinal(error) ? new WrongServer(message) : new StorageUnavailable(message);
}

/** What the database refused is refused again at every start, and each try would lock its tables. Anything else may go away by itself. */
function isFinal(error: unknown): boolean {
  const state = stateOf(error) ?? '';
  return REFUSED_STATEMENT.test(state) || (kindOf(error) === 'refused' && state !== INTERNAL_ERROR);
}
