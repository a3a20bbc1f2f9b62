import { Database } from 'bun:sqlite';
import { join } from 'node:path';

import type { TestService } from '../../support/service.ts';

/** As the program that keys come from has stored them. */
export function sha256(secret: string): string {
  return Bun.SHA256.hash(secret, 'base64');
}

const TABLES = [
  'apis',
  'identities',
  'keys',
  'search_words',
  'permissions',
  'roles',
  'root_keys',
  'former_secrets',
  'audit_entries',
  'imports',
  'import_batches',
  'import_errors',
];

/** All that management writes, as it is committed. */
export function tablesOf({ folder }: TestService): Record<string, unknown[]> {
  const db = new Database(join(folder, 'keystile.db'), { readonly: true });
  try {
    return Object.fromEntries(TABLES.map((table) => [table, db.query(`SELECT * FROM ${table}`).all()]));
  } finally {
    db.close();
  }
}
