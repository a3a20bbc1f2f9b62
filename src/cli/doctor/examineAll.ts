import { findRunning, type Running } from './askService.ts';
import { DATABASE_FACTS, type DatabaseGathered, gatherEmbedded } from './embeddedFacts.ts';
import { readCertificate, readMetricsPort, readOpenFiles, readPort } from './machineFacts.ts';
import { namedAsGiven } from '../../config/read.ts';
import type { Config } from '../../config/variables.ts';
import type { Outcome } from '../../doctor/check.ts';
import { examine } from '../../doctor/examine.ts';
import {
  type DatabaseFailure,
  ELSEWHERE,
  FACT_NAMES,
  type FactName,
  type Facts,
  type GatheredFacts,
  nodeStatuses,
  noneKnown,
  NotKnown,
  type StandbyFact,
  webhookFacts,
} from '../../doctor/facts.ts';
import { OTHER_SESSIONS } from '../../serve/openFiles.ts';
import { OLDEST_VERSION } from '../../storage/postgres/connection/connector.ts';
import { causeOf, reasonOf, stateOf } from '../../storage/postgres/connection/databaseError.ts';
import { ForeignSession } from '../../storage/postgres/connection/ownSession.ts';
import { MissingRight, OldServer } from '../../storage/postgres/connection/wrongServer.ts';
import { type InspectedPostgres, inspectPostgres } from '../../storage/postgres/inspect.ts';
import { wallClockMs } from '../../bunPlatform.ts';

type ValidConfiguration = Pick<Facts, 'config' | 'removedSettings'>;

/** The configuration, or what is wrong with it. */
export type ReadConfiguration = ValidConfiguration | Pick<Facts, 'settingProblems'>;

/** Makes every check, from outside and, where a service runs, with what it finds about itself. */
export async function examineAll(configuration: ReadConfiguration): Promise<readonly Outcome[]> {
  if ('settingProblems' in configuration) return examine(withoutConfiguration(configuration.settingProblems));
  const { config } = configuration;
  const running = await findRunning(config);
  const gathered = running.isElsewhere === true ? ofElsewhere(running) : await gatherAll(configuration, running);
  const outcomes = examine(gathered).map((outcome) => named(outcome, config));
  return withOwn(outcomes, running.outcomes);
}

/** A setting that was given as a flag is named by the flag, but not in a command, which is run without it. */
function named(outcome: Outcome, { origins }: Config): Outcome {
  if (!('text' in outcome)) return outcome;
  return { ...outcome, text: namedAsGiven(outcome.text, origins), fix: namedAsGiven(outcome.fix, origins) };
}

/** What this shell and this machine say is about another service. */
function ofElsewhere({ readiness, unasked }: Running): GatheredFacts {
  return { ...noneKnown(FACT_NAMES, unasked.because), settingProblems: [], removedSettings: [], readiness };
}

async function gatherAll({ config, removedSettings }: ValidConfiguration, running: Running): Promise<GatheredFacts> {
  const { databaseUrl } = config;
  const parts = await Promise.all([
    orNoneKnown(['port'], async () => ({ port: await readPort(config, running) })),
    orNoneKnown(['metricsPort'], async () => ({ metricsPort: await readMetricsPort(config, running) })),
    orNoneKnown(['openFiles'], async () => ({ openFiles: readOpenFiles(config, running) })),
    orNoneKnown(['certificate'], async () => ({ certificate: readCertificate(config) })),
    orNoneKnown(DATABASE_FACTS, () =>
      databaseUrl === null ? gatherEmbedded(config, running) : gatherShared(config, databaseUrl),
    ),
  ]);
  const [port, metricsPort, openFiles, certificate, ofDatabase] = parts;
  const { readiness, unasked } = running;
  const hasDefaultPlan = config.defaultPlan === null ? true : unasked;
  const ofRunning = { readiness, waiting: unasked, otherTags: unasked, hasDefaultPlan };
  return {
    config,
    settingProblems: [],
    removedSettings,
    ...ofRunning,
    ...port,
    ...metricsPort,
    ...openFiles,
    ...certificate,
    ...ofDatabase,
  };
}

/** A failure to read some facts hides no others. */
async function orNoneKnown<N extends FactName>(
  names: readonly N[],
  read: () => Promise<Pick<GatheredFacts, N>>,
): Promise<Pick<GatheredFacts, N>> {
  try {
    return await read();
  } catch (error) {
    const because = `it cannot be read: ${error instanceof Error ? error.message : String(error)}`;
    // The compiler gives up on so many names.
    return noneKnown(names, because) as object as Pick<GatheredFacts, N>;
  }
}

function withoutConfiguration(settingProblems: readonly string[]): GatheredFacts {
  return { ...noneKnown(FACT_NAMES, 'the configuration is wrong'), settingProblems, removedSettings: [] };
}

/** What the running service finds counts: it knows its own settings, which this shell may not have. */
function withOwn(outcomes: readonly Outcome[], own: readonly Outcome[]): readonly Outcome[] {
  const ownByName = new Map(own.map((each) => [each.name, each]));
  const known = new Set(outcomes.map(({ name }) => name));
  // A service of another version may know further checks.
  return [...outcomes.map((each) => ownByName.get(each.name) ?? each), ...own.filter(({ name }) => !known.has(name))];
}

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
