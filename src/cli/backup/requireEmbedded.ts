import type { Config } from '../../config/variables.ts';
import { type CliError, failed } from '../cliError.ts';

/** Backups are files of the embedded database. PostgreSQL has tools of its own. */
export function requireEmbedded({ databaseUrl }: Config): void {
  if (databaseUrl !== null) throw ofPostgres();
}

function ofPostgres(): CliError {
  return failed(
    'KEYSTILE_DATABASE_URL is set, and this command works on the embedded database. Back up PostgreSQL with its own tools: docs/backup.md shows how.',
  );
}
