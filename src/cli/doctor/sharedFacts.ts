import type { Config } from '../../config/variables.ts';
import { ELSEWHERE, nodeStatuses } from '../../doctor/databaseFacts.ts';
import { type DatabaseFailure, noneKnown, NotKnown, type StandbyFact } from '../../doctor/facts.ts';
import { webhookFacts } from '../../doctor/webhookFacts.ts';
import { OTHER_SESSIONS } from '../../serve/openFiles.ts';
import { OLDEST_VERSION } from '../../storage/postgres/connection/connector.ts';
import { causeOf, reasonOf, stateOf } from '../../storage/postgres/connection/databaseError.ts';
import { ForeignSession } from '../../storage/postgres/connection/ownSession.ts';
import { MissingRight, OldServer } from '../../storage/postgres/connection/wrongServer.ts';
import { type InspectedPostgres, inspectPostgres } from '../../storage/postgres/inspect.ts';
import { wallClockMs } from '../../system.ts';
import type { DatabaseGathered } from './embeddedFacts.ts';

const OF_DISK = ['folder', 'disk', 'walBytes', 'copyRefusal', 'backups'] as const;
const OF_CONTENTS = ['rootKeys', 'webhooks', 'nodes'] as const;
const OF_SERVER = [
  'machineClockMs',
  'databaseVersion',
  'databaseWarnings',
  'standby',
  'sessions',
  'schema',
  'useRefusal',
  'oldestTransactionMs',
  ...OF_CONTENTS,
] as const;

/** Reads from PostgreSQL, and writes nothing there, whether nodes run or not. */
export async function gatherShared(config: Config, url: string): Promise<DatabaseGathered> {
  const elsewhere = noneKnown(OF_DISK, ELSEWHERE.because);
  try {
    const found = await inspectPostgres({ url, allowFsyncOff: config.allowFsyncOff, wallClockMs });
    return { ...elsewhere, ...serverFacts(found, config), ...contentFacts(found) };
  } catch (error) {
    const unknown = { ...noneKnown(OF_SERVER, 'the database cannot be read'), ...elsewhere, nowMs: wallClockMs() };
    const unread = { ...unknown, databaseFailure: failureOf(error) };
    return error instanceof OldServer
      ? { ...unread, databaseVersion: { found: error.found, oldest: error.oldest } }
      : unread;
  }
}

function failureOf(error: unknown): DatabaseFailure {
  if (stateOf(error) !== null) return { text: `The database refused (${reasonOf(error)}).`, cause: causeOf(error) };
  const text = error instanceof Error ? error.message : String(error);
  if (error instanceof ForeignSession) return { text, cause: 'pooler' };
  return { text, cause: error instanceof MissingRight ? 'rights' : null };
}

function serverFacts(found: InspectedPostgres, { databasePool }: Config) {
  return {
    nowMs: found.nowMs,
    machineClockMs: found.clockMs,
    databaseFailure: found.missingRight === null ? null : { text: found.missingRight, cause: 'rights' as const },
    databaseVersion: { found: found.version, oldest: OLDEST_VERSION },
    databaseWarnings: found.warnings,
    standby: standbyFact(found.standby),
    sessions: { free: found.freeSessions, needed: databasePool + OTHER_SESSIONS },
    schema: found.schema,
    useRefusal: found.useRefusal,
    oldestTransactionMs: found.oldestTransactionMs,
  };
}

/** Not every user may see the standbys. Where none is awaited, that does not matter. */
export function standbyFact({ awaited, synchronous }: InspectedPostgres['standby']): StandbyFact | NotKnown {
  if (synchronous !== null || awaited === '') return { awaited, synchronous: synchronous ?? 0 };
  return new NotKnown('this user of PostgreSQL may not see its standbys: grant it pg_monitor');
}

const UNREADABLE = 'the database has no tables that this program knows, or this role may not read them';

function contentFacts({ contents, nowMs }: InspectedPostgres): Pick<DatabaseGathered, (typeof OF_CONTENTS)[number]> {
  if (contents === null) return noneKnown(OF_CONTENTS, UNREADABLE);
  const { rootKeys, webhooks, failing, nodes } = contents;
  return { rootKeys, webhooks: webhookFacts(webhooks, failing), nodes: nodeStatuses({ nowMs, nodes }, null) };
}
