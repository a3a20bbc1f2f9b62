import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';

import type { Config } from '../config/variables.ts';
import { findOwner, type Owner } from '../storage/sqlite/file/dataFolder.ts';
import { monotonicMs } from '../bunPlatform.ts';
import { failed, type CliError } from './cliError.ts';
import type { InProcessService } from './inProcess.ts';
import { LOAD } from './load.ts';

/** Whether a database exists. Fails when this user has no access to the data folder. */
export function hasDatabase({ data, databaseUrl }: Config): boolean {
  if (databaseUrl !== null) return true;
  try {
    accessSync(data, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const code = (error as { code?: string }).code ?? String(error);
    if (code === 'ENOENT') return false;
    throw failed(
      `This user has no access to the data folder ${data} (${code}). Run the command as the user of the service.`,
    );
  }
  return existsSync(join(data, 'keystile.db'));
}

/** Opens the database in this process, or returns the owner of the data folder: a server, or another command that soon ends. */
export async function openUnlessOwned(config: Config): Promise<InProcessService | Owner> {
  const owner = config.databaseUrl === null ? findOwner(config.data) : null;
  if (owner !== null) return owner;
  const { openInProcess } = await LOAD.inProcess();
  return openInProcess(config);
}

export function noDatabase(config: Config, url: string): CliError {
  return failed(
    `No server answers at ${url}, and there is no database in ${config.data}.`,
    'Start a server with keystile serve, or set KEYSTILE_URL to a server or KEYSTILE_DATA to a data folder.',
  );
}

export function ownedBy(config: Config, owner: Owner): string {
  return `The data folder ${config.data} is in use by process ${owner.pid} on ${owner.host}, started ${owner.startedAt}`;
}

/** How long a command waits for another command to end, or for a server to start. */
export const WAIT_FOR_OWNER_MS = 5_000;
const POLL_MS = 25;

/** Repeats `attempt` until it returns a value. Returns null after WAIT_FOR_OWNER_MS. */
export async function retryFor<T>(attempt: () => Promise<T | null>): Promise<T | null> {
  const startedAt = monotonicMs();
  for (;;) {
    const answer = await attempt();
    if (answer !== null || monotonicMs() - startedAt > WAIT_FOR_OWNER_MS) return answer;
    await Bun.sleep(POLL_MS);
  }
}
