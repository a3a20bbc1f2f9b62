/**
 * Revisions for the fences of spends (core/fence.ts). They replace the guard accounts of keys that spend only of their identity;
 * an entry of the log may bring such an account back once more, where nothing refers to it.
 */
export const SCHEMA_V4 = `
  ALTER TABLE overrides ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE namespaces ADD COLUMN patterns_revision INTEGER NOT NULL DEFAULT 0;
  DELETE FROM accounts WHERE id IN (SELECT guard_account FROM keys WHERE guard_account IS NOT NULL);
  ALTER TABLE keys DROP COLUMN guard_account;
  `;
