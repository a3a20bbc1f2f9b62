import { Database } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { shownStart } from '../../src/core/secret.ts';
import { migrate } from '../../src/storage/sqlite/file/migrate.ts';
import { dayStartOf } from '../../src/core/statement.ts';
import { Digester } from '../../src/bunPlatform.ts';
import { secretOf } from './requests.ts';

/** What is counted for the keys of a row: nothing, a local limit, credits, or a strict limit. */
export type KeyShape = 'plain' | 'local' | 'credits' | 'strict';

/** Large enough that nothing is refused, and that all answers of a run have the same length. */
const CREDITS = 2_000_000_000;
const LIMIT = { name: 'default', limit: 1_999_999_999, durationMs: 30 * 24 * 60 * 60 * 1000 };

/** A root key with all rights, for rows that call more than keys.verifyKey. */
export const ROOT_KEY = 'root_of_the_keystile_benchmark_1';
export const PLAN_ID = 'plan_11111111benchmarkbench';
export const API_ID = 'api_11111111benchmarkbench';
const ID_DIGITS = 22;

/** Keys that an identity on a plan has; 0 = keys belong to nobody, and have the counter themselves. */
export type KeysPerCustomer = 0 | 1 | 10;

/**
 * Creates a database with `count` keys of one shape, written directly: creating them over HTTP would take an hour. Where keys belong to
 * identities, these are on a plan, which brings the credits or the limit.
 */
export function fillFolder(folder: string, count: number, shape: KeyShape, each: KeysPerCustomer = 0): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const db = new Database(join(folder, 'keystile.db'), { create: true, readwrite: true });
  // Nothing here has to survive a crash. The service sets its own pragmas when it opens the file.
  db.run('PRAGMA journal_mode = OFF');
  db.run('PRAGMA synchronous = OFF');
  db.run('PRAGMA cache_size = -1000000');
  migrate(db);
  db.transaction(() => (each > 0 ? insertHolders(db, count, shape, each) : insertKeys(db, count, shape))).immediate();
  db.close();
}

function insertKeys(db: Database, count: number, shape: KeyShape): void {
  const nowMs = Date.now();
  const digester = new Digester(null);
  db.query('INSERT INTO apis (id, name, created_at_ms) VALUES (?, ?, ?)').run(API_ID, 'benchmark', nowMs);
  const insertKey = db.prepare(
    `INSERT INTO keys (id, api_id, secret_digest, start, enabled, credits, credits_account, limits, created_at_ms, revision)
     VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, 1)`,
  );
  const insertAccount = db.prepare(
    'INSERT INTO accounts (id, kind, value, mark, due_at_ms, revision, base, segment_ms) VALUES (?1, ?2, ?3, 0, 0, 1, ?3, ?4)',
  );
  for (let number = 0; number < count; number++) {
    const secret = secretOf(number);
    const account = number + 1;
    const id = keyIdOf(number);
    const [credits, limits] = countersOf(shape, account);
    const start = shownStart('demo', secret);
    const creditsAccount = credits === null ? null : account;
    insertKey.run(id, API_ID, digester.digest(secret), start, credits, creditsAccount, limits, nowMs);
    if (shape === 'credits') insertAccount.run(account, 0, CREDITS, dayStartOf(nowMs));
    if (shape === 'strict') insertAccount.run(account, 1, 0, 0);
  }
  db.query("INSERT INTO installation (name, value) VALUES ('next_account', ?)").run(String(count + 1));
}

/** SQL for the identity of a key, from its id. */
export function ownerOf(each: KeysPerCustomer): string {
  return `'id_' || ${each === 10 ? `substr(id, 5, ${ID_DIGITS - 1}) || '1'` : 'substr(id, 5)'}`;
}

function insertHolders(db: Database, count: number, shape: KeyShape, each: KeysPerCustomer): void {
  insertKeys(db, count, 'plain');
  db.query(
    'INSERT INTO plans (id, name, remaining, metered, refills, limits, created_at_ms, revision) VALUES (?, ?, ?, 0, ?, ?, 0, 1)',
  ).run(PLAN_ID, 'bench', shape === 'credits' ? CREDITS : null, NO_REFILL, planLimitsOf(shape));
  const holders = `SELECT row_number() OVER (ORDER BY identity_id) AS rowid_, identity_id FROM
    (SELECT DISTINCT ${ownerOf(each)} AS identity_id FROM keys)`;
  const credits =
    shape === 'credits' ? `'{"account":' || rowid_ || ',"refill":null,"ofPlan":true}', rowid_` : 'NULL, NULL';
  db.run(`INSERT INTO identities (id, external_id, enabled, plan_id, credits, credits_account, created_at_ms, revision)
    SELECT identity_id, identity_id, 1, '${PLAN_ID}', ${credits}, 0, 1 FROM (${holders})`);
  db.run(`UPDATE keys SET identity_id = ${ownerOf(each)}`);
  if (shape !== 'credits') return;
  db.run(`INSERT INTO accounts (id, kind, value, mark, due_at_ms, revision, base, segment_ms)
    SELECT credits_account, 0, ${CREDITS}, 0, 0, 1, ${CREDITS}, ${dayStartOf(Date.now())} FROM identities`);
}

const NO_REFILL = '[{"fromMs":0,"rule":null}]';

/** The column `limits` of the plan. */
export function planLimitsOf(shape: KeyShape): string | null {
  return shape === 'local' || shape === 'strict' ? JSON.stringify([{ ...LIMIT, async: shape === 'local' }]) : null;
}

/** Ids are in the order of their numbers. */
export function keyIdOf(number: number): string {
  return `key_${idDigits(number)}`;
}

/** The number as digits of an id, in the same order. Ids contain no 0. */
function idDigits(number: number): string {
  return Array.from(String(number).padStart(ID_DIGITS, '0'), (digit) => '123456789A'[Number(digit)]).join('');
}

/** The columns `credits` and `limits` of a key. */
function countersOf(shape: KeyShape, account: number): [credits: string | null, limits: string | null] {
  switch (shape) {
    case 'plain':
      return [null, null];
    case 'local':
      return [null, JSON.stringify([{ ...LIMIT, async: true, account: null }])];
    case 'credits':
      return [JSON.stringify({ account, refill: null }), null];
    case 'strict':
      return [null, JSON.stringify([{ ...LIMIT, async: false, account }])];
  }
}

export function addRootKey(folder: string): void {
  const db = new Database(join(folder, 'keystile.db'));
  db.query('INSERT INTO root_keys (id, secret_digest, start, rights, created_at_ms) VALUES (?, ?, ?, ?, 0)').run(
    'rk_1',
    new Digester(null).digest(ROOT_KEY),
    'root',
    '["*"]',
  );
  db.close();
}
