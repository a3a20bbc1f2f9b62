import type { Check } from './check.ts';
import { backups } from './checks/backups.ts';
import { certificate } from './checks/certificate.ts';
import { clocks } from './checks/clocks.ts';
import { database } from './checks/database.ts';
import { databaseSettings } from './checks/databaseSettings.ts';
import { disk } from './checks/disk.ts';
import { freshness } from './checks/freshness.ts';
import { goneNodes } from './checks/goneNodes.ts';
import { localCounts } from './checks/localCounts.ts';
import { lostCommits } from './checks/lostCommits.ts';
import { queue } from './checks/queue.ts';
import { rootKey } from './checks/rootKey.ts';
import { tags } from './checks/tags.ts';
import { tls } from './checks/tls.ts';
import { transactions } from './checks/transactions.ts';
import { versions } from './checks/versions.ts';
import { webhooks } from './checks/webhooks.ts';
import { writeAheadLog } from './checks/writeAheadLog.ts';

/** Every check, the gravest first. */
export const CHECKS: readonly Check[] = [
  database,
  databaseSettings,
  disk,
  queue,
  goneNodes,
  freshness,
  localCounts,
  tls,
  certificate,
  webhooks,
  backups,
  lostCommits,
  writeAheadLog,
  transactions,
  clocks,
  versions,
  rootKey,
  tags,
];
