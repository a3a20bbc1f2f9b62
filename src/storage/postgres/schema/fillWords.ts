import { NAMED_KEYS, type NamedRow, storedWords } from '../../sql/wordIndex.ts';
import { kindOf } from '../connection/databaseError.ts';
import type { Ask, Pool } from '../connection/pool.ts';

/** In `installation`: the last key whose words are in the index. Absent: those of all keys are. */
export const WORDS_FILLED_TO = 'words_filled_to';

/** Keys of one step. */
const STEP = 500;
/** Less than it takes the database to look for a deadlock: this gives way, not the change of a key that it got in the way of. */
const LOCK_TIMEOUT_MS = 200;

/**
 * Puts the next keys from before the index of words into it; true when there are none left. A step is a short transaction, in
 * which the row of the cursor is held: nodes that do it at the same time take turns. The keys are held too, so that
 * one that is renamed meanwhile has its new words and not the old ones. The step takes a number of the feed, because totals of
 * searches are remembered until the number changes.
 */
export async function fillWords(pool: Pool): Promise<boolean> {
  return pool.use(async (ask) => {
    await ask(`BEGIN; SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
    try {
      const isFilled = await fillStep(ask);
      await ask('COMMIT');
      return isFilled;
    } catch (error) {
      await ask('ROLLBACK').catch(() => {});
      if (['busy', 'again'].includes(kindOf(error))) return false;
      throw error;
    }
  });
}

async function fillStep(ask: Ask): Promise<boolean> {
  const { rows: cursors } = await ask<{ value: string }>({
    text: 'SELECT value FROM installation WHERE name = $1 FOR UPDATE',
    values: [WORDS_FILLED_TO],
  });
  const [cursor] = cursors;
  if (cursor === undefined) return true;
  const { rows: keys } = await ask<NamedRow & Record<string, unknown>>({
    text: `${NAMED_KEYS} FOR SHARE`,
    values: [cursor.value, STEP],
  });
  await insertWords(ask, keys);
  const last = keys.at(-1);
  if (last === undefined) {
    await ask({ text: 'DELETE FROM installation WHERE name = $1', values: [WORDS_FILLED_TO] });
    return true;
  }
  await ask({ text: 'UPDATE installation SET value = $1 WHERE name = $2', values: [last.id, WORDS_FILLED_TO] });
  return false;
}

async function insertWords(ask: Ask, keys: readonly NamedRow[]): Promise<void> {
  const words = keys.flatMap((key) => storedWords(key).map((word) => ({ ...key, word })));
  if (words.length === 0) return;
  await ask({
    text: `INSERT INTO key_words (api_id, word, key_id)
      SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) ON CONFLICT DO NOTHING`,
    values: [words.map(({ api_id }) => api_id), words.map(({ word }) => word), words.map(({ id }) => id)],
  });
  await ask(`WITH next AS (UPDATE change_counter SET number = number + 1 RETURNING number)
    INSERT INTO changes (number, at_ms, keys, root_keys)
    SELECT number, ledger_now_v1(NULL), '{}', false FROM next`);
}
