import { SPEND_V3 } from './spendFunction.ts';
import { TAKE_V2 } from './takeFunction.ts';

/**
 * Revisions for the fences of spends (core/fence.ts), which replace the guard accounts of keys that spend only of their identity.
 * A program of version 3 would change overrides without a new revision: it cannot work beside one of version 4.
 */
export const SCHEMA_V4 = `
  LOCK TABLE keys, identities, apis, changes IN ACCESS EXCLUSIVE MODE;
  ALTER TABLE overrides ADD COLUMN revision bigint NOT NULL DEFAULT 0;
  ALTER TABLE namespaces ADD COLUMN patterns_revision bigint NOT NULL DEFAULT 0;
  DELETE FROM accounts WHERE id IN (SELECT guard_account FROM keys WHERE guard_account IS NOT NULL);
  ALTER TABLE keys DROP COLUMN guard_account;
  DROP FUNCTION ledger_take_v1, ledger_spend_v1, ledger_spend_v2, ledger_open_window_v1;
  ${TAKE_V2}
  ${SPEND_V3}
  `;

export const INDEXES_V4 = ``;
