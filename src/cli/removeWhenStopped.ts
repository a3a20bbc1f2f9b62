import { rmSync } from 'node:fs';

import { type CliError, failed } from './cliError.ts';
import type { Config } from '../config/variables.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The exit code of a process that SIGINT ends (128 + 2). */
const INTERRUPTED = 130;

/** Does work that keeps unfinished files in `folder`. Who stops the command, with Ctrl-C for example, finds nothing of them. */
export function removeWhenStopped<T>(folder: string, work: () => Promise<T>): Promise<T> {
  return whenStopped(() => rmSync(folder, { recursive: true, force: true }), work);
}

/** Does work. When the command is stopped meanwhile, `stopped` is the last that it does, also if it fails. */
export async function whenStopped<T>(stopped: () => void, work: () => Promise<T>): Promise<T> {
  const stop = (): void => {
    try {
      stopped();
    } finally {
      process.exit(INTERRUPTED);
    }
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  try {
    return await work();
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop);
  }
}

/** Backups are files of the embedded database. PostgreSQL has tools of its own. */
export function requireEmbedded({ databaseUrl }: Config): void {
  if (databaseUrl !== null) throw ofPostgres();
}

function ofPostgres(): CliError {
  return failed(
    'KEYSTILE_DATABASE_URL is set, and this command works on the embedded database. Back up PostgreSQL with its own tools: docs/backup.md shows how.',
  );
}
