import { misused } from '../../cliError.ts';
import type { Flags } from '../../flags.ts';
import type { Io } from '../../io.ts';
import { readSettings, type Settings } from '../../settings.ts';

/** Settings of a command on one database. Which one it is must not be in doubt. */
export async function readDataSettings(io: Io, flags: Flags): Promise<Settings> {
  const settings = await readSettings(io, flags);
  if (flags.has('data') && settings.config.databaseUrl !== null)
    throw misused(
      '--data names a data folder, and KEYSTILE_DATABASE_URL names a PostgreSQL database. Leave one of them out.',
    );
  return settings;
}
