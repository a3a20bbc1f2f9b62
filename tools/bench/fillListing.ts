import { Database } from 'bun:sqlite';
import { join } from 'node:path';

import { API_ID, fillFolder, keyIdOf } from './fill.ts';

/** Keys of each owner. */
const OWNED = 100;
/** Owners on the plan that few are on. */
const RARE_OWNERS = 10;
/** Identities on a plan, without any keys. */
const IDLE_OWNERS = 2_000;
/** Keys that are disabled, the newest, and that have expired, in the middle: where a page finds them last. */
const APART = 100;

export const COMMON_PLAN = 'plan_11111111commoncommon';
export const RARE_PLAN = 'plan_11111111rarerarerare';
export const IDLE_PLAN = 'plan_11111111idleidleidle';
export const OWNER = 'owner 7';

/**
 * Keys that filters and searches find: each has an owner, most owners are on one plan, and each key has the word "common", every second
 * one "second", and a word of its own.
 */
export function fillForListing(folder: string, count: number): void {
  fillFolder(folder, count, 'credits');
  const db = new Database(join(folder, 'keystile.db'));
  db.run('PRAGMA synchronous = OFF');
  db.run('PRAGMA cache_size = -1000000');
  db.transaction(() => {
    addOwners(db, count / OWNED);
    db.run(`UPDATE keys SET identity_id = 'id_' || ((credits_account - 1) % ${count / OWNED})`);
    db.run(`UPDATE keys SET enabled = 0 WHERE credits_account > ${count - APART}`);
    db.run('UPDATE keys SET expires_at_ms = 1 WHERE credits_account BETWEEN ?1 AND ?2', [
      count / 2,
      count / 2 + APART - 1,
    ]);
    for (const [word, keys] of [
      [`'common'`, 'keys'],
      [`'second'`, '(SELECT id, credits_account FROM keys WHERE credits_account % 2 = 0)'],
      [`'key' || credits_account`, 'keys'],
    ] as const)
      db.run(`INSERT INTO search_words (scope, word, id) SELECT '${API_ID}', ${word}, id FROM ${keys} ORDER BY 2, 3`);
  }).immediate();
  db.close();
}

function addOwners(db: Database, owners: number): void {
  const addPlan = db.prepare(
    `INSERT INTO plans (id, name, metered, refills, created_at_ms, revision) VALUES (?1, ?1, 0, '[{"fromMs":0,"rule":null}]', 0, 1)`,
  );
  for (const planId of [COMMON_PLAN, RARE_PLAN, IDLE_PLAN]) addPlan.run(planId);
  const addOwner = db.prepare(
    'INSERT INTO identities (id, external_id, enabled, plan_id, created_at_ms, revision) VALUES (?, ?, 1, ?, 0, 1)',
  );
  for (let i = 0; i < owners; i++) addOwner.run(`id_${i}`, `owner ${i}`, i < RARE_OWNERS ? RARE_PLAN : COMMON_PLAN);
  for (let i = 0; i < IDLE_OWNERS; i++) addOwner.run(`id_idle_${i}`, `idle ${i}`, IDLE_PLAN);
}

/** The cursors before the first page, one in the middle, and the last. */
export function cursorsOf(count: number, page: number): readonly (string | undefined)[] {
  return [undefined, keyIdOf(count / 2), keyIdOf(count - page - 1)];
}
