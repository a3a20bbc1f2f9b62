import type { Check } from './check.ts';
import { copiedDatabase } from './checks/database/copiedDatabase.ts';
import { database } from './checks/database/database.ts';
import { databaseConnections } from './checks/database/databaseConnections.ts';
import { databaseSettings } from './checks/database/databaseSettings.ts';
import { databaseVersion } from './checks/database/databaseVersion.ts';
import { lostCommits } from './checks/database/lostCommits.ts';
import { moved } from './checks/database/moved.ts';
import { schema } from './checks/database/schema.ts';
import { standby } from './checks/database/standby.ts';
import { transactions } from './checks/database/transactions.ts';
import { writeAheadLog } from './checks/database/writeAheadLog.ts';
import { configuration } from './checks/machine/configuration.ts';
import { dataFolder } from './checks/machine/dataFolder.ts';
import { disk } from './checks/machine/disk.ts';
import { machineClock } from './checks/machine/machineClock.ts';
import { metricsPort } from './checks/machine/metricsPort.ts';
import { openFiles } from './checks/machine/openFiles.ts';
import { port } from './checks/machine/port.ts';
import { clocks } from './checks/nodes/clocks.ts';
import { freshness } from './checks/nodes/freshness.ts';
import { goneNodes } from './checks/nodes/goneNodes.ts';
import { localCounts } from './checks/nodes/localCounts.ts';
import { versions } from './checks/nodes/versions.ts';
import { backups } from './checks/process/backups.ts';
import { certificate } from './checks/process/certificate.ts';
import { defaultPlan } from './checks/process/defaultPlan.ts';
import { expiringRootKeys } from './checks/process/expiringRootKeys.ts';
import { openVerification } from './checks/process/openVerification.ts';
import { queue } from './checks/process/queue.ts';
import { readiness } from './checks/process/readiness.ts';
import { rootKey } from './checks/process/rootKey.ts';
import { tags } from './checks/process/tags.ts';
import { tls } from './checks/process/tls.ts';
import { webhooks } from './checks/process/webhooks.ts';
import { workingRootKey } from './checks/process/workingRootKey.ts';

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
