import type { Client } from 'pg';

import { StorageUnavailable } from '../../port/storage.ts';
import { DataError } from '../../sql/move/dataError.ts';
import { Connector } from '../connection/connector.ts';
import { WrongServer } from '../connection/wrongServer.ts';
import { adviceOnRefusal, isTold, kindOf, reasonOf } from '../connection/databaseError.ts';
import { parseAddress } from '../../../core/databaseUrl.ts';
import { requireOwnSessions } from '../connection/ownSession.ts';

/** Sorting or counting a large table takes long. A reader of the export may be slow, and the transaction waits for it. */
const SETTINGS = {
  statement_timeout: '3600000',
  idle_in_transaction_session_timeout: '0',
};

/** A command that was killed keeps its lock until the server notices. */
const LOCK_WITHIN_MS = 2_000;

export async function openForData(url: string): Promise<Client> {
  const connector = new Connector(parseAddress(url), 'data');
  const client = await connector.connect(SETTINGS);
  // Set later than the others: a server that is too old does not know it, and would refuse the connection before it reports its version.
  try {
    await orExplain(
      requireOwnSessions(client, () => connector.connect({})),
      'Run the command again.',
    );
    await orExplain(client.query('SET idle_session_timeout = 0'), 'Run the command again.');
    return client;
  } catch (error) {
    await client.end();
    throw error;
  }
}

/** Takes an advisory lock for as long as the connection is open. `refusal` says who else has it. */
export async function takeSessionLock(client: Client, key: number, refusal: string): Promise<void> {
  try {
    await client.query(`SET lock_timeout = ${LOCK_WITHIN_MS}`);
    await client.query('SELECT pg_advisory_lock($1)', [key]);
    await client.query('SET lock_timeout = 0');
  } catch (error) {
    if (kindOf(error) !== 'busy') throw error;
    throw new DataError(refusal);
  }
}

/** Failures of the database in one sentence, with what to do: `advice`, unless every try would end the same. */
export async function orExplain<T>(work: Promise<T>, advice: string, refusalOf = adviceOnRefusal): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (isTold(error) || error instanceof DataError || error instanceof WrongServer) throw error;
    const refusal = refusalOf(error);
    if (refusal !== null) throw new WrongServer(`The database refused (${reasonOf(error)}). ${refusal}`);
    const lost = kindOf(error) === 'lost' ? 'The connection to the database was lost' : 'The database refused';
    throw new StorageUnavailable(`${lost} (${reasonOf(error)}). ${advice}`);
  }
}
