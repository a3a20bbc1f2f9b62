import type { Database } from 'bun:sqlite';

import type { ApiQuery, KeyQuery, Page } from '../port.ts';
import type { ApiRow, KeyRow } from './rows.ts';

/** Long reads: they run in a thread of their own, beside the verifications. */

export const KEY_SELECT = `SELECT k.*, i.external_id, i.meta AS identity_meta, i.created_at_ms AS identity_created_at_ms
  FROM keys k LEFT JOIN identities i ON i.id = k.identity_id`;

/** Pages by id over the index keys_of_api or keys_of_identity: a later page costs what the first one does. */
export function listKeys(db: Database, query: KeyQuery): Page<KeyRow> {
  const params: (string | number)[] = [query.apiId];
  let where = 'k.deleted_at_ms IS NULL AND k.api_id = ?';
  if (query.externalId !== null) {
    where += ' AND k.identity_id = (SELECT id FROM identities WHERE external_id = ?)';
    params.push(query.externalId);
  }
  const { total } = db.query(`SELECT count(*) AS total FROM keys k WHERE ${where}`).get(...params) as { total: number };
  const rows = db
    .query(`${KEY_SELECT} WHERE ${where} AND k.id > ? ORDER BY k.id LIMIT ?`)
    .all(...params, query.after ?? '', query.limit + 1) as KeyRow[];
  return toPage(rows, query.limit, total);
}

export function listApis(db: Database, query: ApiQuery): Page<ApiRow> {
  const ids = query.ids === null ? null : JSON.stringify(query.ids);
  const where = '(? IS NULL OR id IN (SELECT value FROM json_each(?)))';
  const { total } = db.query(`SELECT count(*) AS total FROM apis WHERE ${where}`).get(ids, ids) as { total: number };
  const rows = db
    .query(`SELECT * FROM apis WHERE ${where} AND id > ? ORDER BY id LIMIT ?`)
    .all(ids, ids, query.after ?? '', query.limit + 1) as ApiRow[];
  return toPage(rows, query.limit, total);
}

function toPage<T extends { id: string }>(rows: T[], limit: number, total: number): Page<T> {
  const items = rows.slice(0, limit);
  return { items, total, cursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null };
}
