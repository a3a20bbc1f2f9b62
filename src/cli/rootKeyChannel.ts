import { hostname } from 'node:os';

import type { Config } from '../config/variables.ts';
import { type RootKeyAnswer, type RootKeyCommand, runRootKeyCommand } from '../serve/rootKeyCommands.ts';
import type { Owner } from '../storage/sqlite/file/dataFolder.ts';
import { failed } from './cliError.ts';
import { isNotSent } from './http.ts';
import { hasDatabase, openUnlessOwned, ownedBy, tryPatiently } from './openDatabase.ts';

/**
 * Root keys are for who may read the data folder: the server that owns it is asked through its socket there, and without
 * one the database is opened here. No address leads to them, so a server on another machine is never reached.
 */
export async function askRootKeys(config: Config, command: RootKeyCommand): Promise<RootKeyAnswer> {
  if (!hasDatabase(config) && command.command !== 'create') {
    throw failed(`There is no database in ${config.data}. Say where it is with KEYSTILE_DATA.`);
  }
  let owner: Owner | null = null;
  const answer = await tryPatiently(async () => {
    const found = await openUnlessOwned(config);
    if ('service' in found) {
      try {
        return await runRootKeyCommand(found.service.engine, command);
      } finally {
        await found.close();
      }
    }
    owner = found;
    if (found.host !== hostname()) throw failed(`${ownedBy(config, found)}. Run this command there.`);
    return askOwner(found, command);
  });
  if (answer !== null) return answer;
  throw failed(
    owner === null ? 'The data folder cannot be opened.' : `${ownedBy(config, owner)}, and does not answer.`,
  );
}

/** Null when the owner does not listen: it is a command like this one, or a server that starts or stops. */
async function askOwner({ control }: Owner, command: RootKeyCommand): Promise<RootKeyAnswer | null> {
  if (control === null) return null;
  let response: Response;
  try {
    response = await fetch('http://localhost/', { unix: control, method: 'POST', body: JSON.stringify(command) });
  } catch (error) {
    if (isNotSent(error)) return null;
    throw failed('The server did not answer on its control socket. keystile root-key list shows what was done.');
  }
  const answer = (await response.json()) as RootKeyAnswer | { readonly error: string };
  if ('error' in answer) throw failed(answer.error);
  return answer;
}
