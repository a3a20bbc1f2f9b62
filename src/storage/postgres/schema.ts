import type { Client } from 'pg';

import { WrongServer } from './connector.ts';
import { NAMED_KEYS, type NamedRow, storedWords } from '../sql/wordIndex.ts';
import { SCHEMA_V1 } from './schemaV1.ts';
import { SCHEMA_V2 } from './schemaV2.ts';
import { TEXT } from './textType.ts';

interface Migration {
  readonly sql: string;
  /** The oldest program that can work with the schema after it, by the schema version that program was made for. */
  readonly compatibleFrom: number;
}

/**
 * Forward migrations: entry N brings version N to N + 1. An entry that was released is never edited. A program of the version
 * before goes on working on the new schema, so that nodes can be replaced one by one: columns are added with a default,
 * functions get a new name, and what is not used any more is removed one version later.
 */
export const MIGRATIONS: readonly Migration[] = [
  { compatibleFrom: 1, sql: SCHEMA_V1 },
  { compatibleFrom: 1, sql: SCHEMA_V2 },
];

export const SCHEMA_VERSION = MIGRATIONS.length;

/** Any number, the same for all nodes of all versions: who holds it migrates. */
const MIGRATION_LOCK = 7_218_530_411;

/** The version after which there is an index of words, which the keys until then have to be put into. */
const WORDS_SINCE = 1;
const STEP = 1000;

async function fillWords(client: Client): Promise<void> {
  let last = '';
  for (;;) {
    const { rows } = await client.query<NamedRow>(NAMED_KEYS, [last, STEP]);
    const words = rows.flatMap((row) => storedWords(row).map((word) => ({ ...row, word })));
    await client.query(
      'INSERT INTO key_words (api_id, word, key_id) SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) ON CONFLICT DO NOTHING',
      [words.map(({ api_id }) => api_id), words.map(({ word }) => word), words.map(({ id }) => id)],
    );
    if (rows.length < STEP) return;
    last = rows.at(-1)?.id ?? last;
  }
}

/** Brings the database to the version of this program, or leaves a newer one that it can work with. */
export async function migrate(client: Client, newWorkspaceId: () => string, upgrades: boolean): Promise<void> {
  // Whatever the default of the database is: what another node has made while this one waited must be seen.
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
  try {
    await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await client.query(`CREATE TABLE IF NOT EXISTS installation (name ${TEXT} PRIMARY KEY, value ${TEXT} NOT NULL)`);
    const known = await readInstallation(client);
    const version = Number(known.get('schema_version') ?? 0);
    const compatibleFrom = Number(known.get('schema_compatible_from') ?? 0);
    if (version > SCHEMA_VERSION && compatibleFrom > SCHEMA_VERSION) {
      throw new WrongServer(
        `The database has schema version ${version}, which needs a program for version ${compatibleFrom} or newer; this one is for ${SCHEMA_VERSION}.`,
      );
    }
    if (version > 0 && version < SCHEMA_VERSION && !upgrades) {
      throw new WrongServer(
        `The database has schema version ${version}, and this program is for ${SCHEMA_VERSION}. Start keystile serve, which brings it there.`,
      );
    }
    for (const { sql } of MIGRATIONS.slice(version)) await client.query(sql);
    if (version === WORDS_SINCE) await fillWords(client);
    if (version < SCHEMA_VERSION) {
      await put(client, 'schema_version', String(SCHEMA_VERSION));
      await put(client, 'schema_compatible_from', String(MIGRATIONS.at(-1)?.compatibleFrom ?? 0));
    }
    if (!known.has('workspace_id')) await put(client, 'workspace_id', newWorkspaceId());
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

export async function readInstallation(client: Client): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; value: string }>('SELECT name, value FROM installation');
  return new Map(rows.map(({ name, value }) => [name, value]));
}

async function put(client: Client, name: string, value: string): Promise<void> {
  await client.query(
    'INSERT INTO installation (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    [name, value],
  );
}
