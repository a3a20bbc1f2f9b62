import { type Variable, variable } from './variable.ts';
import { count, duration, text } from './kinds.ts';

const DAY_MS = 86_400_000;

/** The settings of scheduled backups. */
export const BACKUP_VARIABLES = {
  backupFolder: variable(
    'BACKUP_FOLDER',
    text,
    null,
    'Folder for scheduled backups of the embedded database; created with mode 0700, but not the folders above it. None are made when absent.',
  ),
  backupEvery: variable(
    'BACKUP_EVERY',
    duration(60_000, 30 * DAY_MS),
    '1d',
    'The time from one scheduled backup to the next.',
  ),
  backupKeep: variable(
    'BACKUP_KEEP',
    count(1, 10_000),
    '7',
    'How many scheduled backups are kept. The oldest are removed after a new one is made.',
  ),
} as const satisfies Record<string, Variable<unknown, string | null>>;
