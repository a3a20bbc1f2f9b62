import type { Database } from 'bun:sqlite';

import type { ApiQuery, KeyQuery, Page } from '../port.ts';
import type { ApiRow, KeyRow } from '../sql/rows.ts';
import { apiListing, keyListing, type Listing, toPage } from '../sql/statements.ts';

/** Long reads: they run in a thread of their own, beside the verifications. */

export function listKeys(db: Database, query: KeyQuery): Page<KeyRow> {
  return read<KeyRow>(db, keyListing(query), query.limit);
}

export function listApis(db: Database, query: ApiQuery): Page<ApiRow> {
  return read<ApiRow>(db, apiListing(query), query.limit);
}

function read<T extends { id: string }>(db: Database, { total, page }: Listing, limit: number): Page<T> {
  const { total: count } = db.query(total.sql).get(...total.params) as { total: number };
  return toPage(db.query(page.sql).all(...page.params) as T[], limit, count);
}
