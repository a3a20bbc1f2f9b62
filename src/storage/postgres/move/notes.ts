import type { Client } from 'pg';

import { DataError } from '../../sql/move/dataError.ts';
import { findUseRefusal } from '../../sql/move/importedNote.ts';
import { WrongServer } from '../connection/wrongServer.ts';

/** Refuses a database whose import is not finished, or that was moved away. */
export function refuseUnusable(known: ReadonlyMap<string, string>): void {
  const refusal = findUseRefusal('The database', known);
  if (refusal !== null) throw new WrongServer(refusal.text);
}

export async function putNote(client: Client, name: string, value: string): Promise<void> {
  await client.query(
    'INSERT INTO installation (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    [name, value],
  );
}

export function noKeystile(): DataError {
  return new DataError(
    'The database has no tables of Keystile. Set KEYSTILE_DATABASE_URL to the database of the service.',
  );
}
