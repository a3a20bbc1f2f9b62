import { hostname } from 'node:os';

import type { Config } from '../config/variables.ts';
import { type RootKeyAnswer, type RootKeyCommand, runRootKeyCommand } from '../serve/rootKeys.ts';
import type { Owner } from '../storage/sqlite/file/dataFolder.ts';
import { failed } from './cliError.ts';
import { isNotSent } from './http.ts';
import { hasDatabase, openUnlessOwned, ownedBy, retryFor } from './openDatabase.ts';

/**
 * Root key commands need access to the data folder. They go to the server that owns the folder, through its control socket.
 * When no server runs, this process opens the database itself. No network address leads to these commands, so a server on
 * another machine never receives them.
 */
export async function askRootKeys(config: Config, command: RootKeyCommand): Promise<RootKeyAnswer> {
  if (!hasDatabase(config) && command.command !== 'create') {
    throw failed(`There is no database in ${config.data}. Set KEYSTILE_DATA to the data folder of the service.`);
  }
  let owner: Owner | null = null;
  const answer = await retryFor(async () => {
    const found = await openUnlessOwned(config);
    if ('engine' in found) {
      try {
        return await runRootKeyCommand(found.engine, command);
      } finally {
        await found.close();
      }
    }
    owner = found;
    if (found.host !== hostname()) throw failed(`${ownedBy(config, found)}. Run this command on that machine.`);
    return askOwner(found, command);
  });
  if (answer !== null) return answer;
  throw failed(
    owner === null
      ? 'The data folder cannot be opened.'
      : `${ownedBy(config, owner)}. That process does not answer on its control socket.`,
  );
}

/** Null when the owner does not listen: it is another command, or a server that is starting or stopping. */
async function askOwner({ control }: Owner, command: RootKeyCommand): Promise<RootKeyAnswer | null> {
  if (control === null) return null;
  let response: Response;
  try {
    response = await fetch('http://localhost/', { unix: control, method: 'POST', body: JSON.stringify(command) });
  } catch (error) {
    if (isNotSent(error)) return null;
    throw failed(
      'The server did not answer on its control socket. The command may have been carried out: check with keystile root-key list.',
    );
  }
  const answer = (await response.json()) as RootKeyAnswer | { readonly error: string };
  if ('error' in answer) throw failed(answer.error);
  return answer;
}
