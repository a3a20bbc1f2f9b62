import type { Check, Outcome } from './check.ts';
import {
  copiedDatabase,
  database,
  databaseConnections,
  databaseSettings,
  databaseVersion,
  lostCommits,
  moved,
  schema,
  standby,
  transactions,
  writeAheadLog,
} from './database.ts';
import type { GatheredFacts } from './facts.ts';
import { configuration, dataFolder, disk, machineClock, metricsPort, openFiles, port } from './machine.ts';
import { clocks, freshness, goneNodes, localCounts, versions } from './nodes.ts';
import {
  backups,
  certificate,
  defaultPlan,
  expiringRootKeys,
  openVerification,
  queue,
  readiness,
  rootKey,
  tags,
  tls,
  webhooks,
  workingRootKey,
} from './process.ts';
import type { CheckStatus, Problem } from '../engine/admin/status.ts';

/** Every check, the gravest first. The status of a running service and `keystile doctor` go by this table alone. */
export const CHECKS: readonly Check[] = [
  configuration,
  database,
  readiness,
  dataFolder,
  port,
  schema,
  databaseVersion,
  copiedDatabase,
  moved,
  databaseSettings,
  standby,
  databaseConnections,
  disk,
  openFiles,
  queue,
  goneNodes,
  freshness,
  localCounts,
  tls,
  certificate,
  openVerification,
  webhooks,
  backups,
  workingRootKey,
  expiringRootKeys,
  defaultPlan,
  lostCommits,
  writeAheadLog,
  transactions,
  machineClock,
  clocks,
  versions,
  metricsPort,
  rootKey,
  tags,
];

/** What every check finds. */
export function examine(gathered: GatheredFacts): readonly Outcome[] {
  return CHECKS.map((check) => check.look(gathered));
}

/** The problems, and the checks that were made. What could not be checked is in neither. */
export function toStatus(outcomes: readonly Outcome[]): {
  readonly problems: readonly Problem[];
  readonly checks: readonly CheckStatus[];
} {
  return {
    problems: outcomes.flatMap((outcome) => {
      if (outcome.result === 'ok' || outcome.result === 'not-checked') return [];
      const { name, result: severity, text, fix, command } = outcome;
      return { name, severity, text, fix, command };
    }),
    checks: outcomes.flatMap(({ name, meaning, result }) =>
      result === 'not-checked' ? [] : { name, meaning, isOk: result === 'ok' },
    ),
  };
}
