import { secret, type Variable, variable } from './variable.ts';
import { count, duration, encryptionKeys, text } from './kinds.ts';

const DAY_MS = 86_400_000;

/** The settings of backups and exports. */
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
  copyKey: secret(
    'COPY_KEY',
    encryptionKeys,
    'Signs backups and exports, so that a copy that somebody has changed is refused: `keystile backup verify`, `backup restore` and `data import` then accept only signed ones. Keep it apart from the copies. To change the key, set the new one before the old one, separated by a comma.',
  ),
} as const satisfies Record<string, Variable<unknown, string | null>>;
