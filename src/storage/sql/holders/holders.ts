import type { CreditsRecord } from '../../../core/records.ts';
import type { Holder, HolderQuery } from '../../port/statements.ts';
import { readCredits, readPlanMove } from '../../../model/values.ts';
import { IS_LIVE } from '../query/queries.ts';
import { placeholders, type SqlReader, type Statement } from '../query/statement.ts';

interface HolderRow {
  readonly id: string;
  readonly api_id: string | null;
  readonly external_id: string | null;
  readonly credits: string | null;
  readonly credits_account: number | null;
  readonly plan_id: string | null;
  readonly plan_move: string | null;
  readonly is_deleted: number;
}

const KEYS = `SELECT k.id, k.api_id, NULL AS external_id, k.credits, k.credits_account, k.plan_id, k.plan_move,
    CASE WHEN ${IS_LIVE} AND a.deleted_at_ms IS NULL THEN 0 ELSE 1 END AS is_deleted
  FROM keys k LEFT JOIN apis a ON a.id = k.api_id`;
const IDENTITIES = `SELECT i.id, NULL AS api_id, i.external_id, i.credits, i.credits_account, i.plan_id, i.plan_move, 0 AS is_deleted
  FROM identities i`;
/** Those of whom nothing but closed accounts is left. */
const GONE = `SELECT c.owner AS id, NULL AS api_id, NULL AS external_id, NULL AS credits, CAST(NULL AS bigint) AS credits_account,
    NULL AS plan_id, NULL AS plan_move, 1 AS is_deleted
  FROM (SELECT DISTINCT owner FROM closed_accounts) c`;

const HAD_CREDITS = (row: string): string =>
  `(${row}.credits_account IS NOT NULL OR EXISTS (SELECT 1 FROM closed_accounts c WHERE c.owner = ${row}.id))`;
const IS_GONE = `NOT EXISTS (SELECT 1 FROM keys k WHERE k.id = c.owner)
  AND NOT EXISTS (SELECT 1 FROM identities i WHERE i.id = c.owner)`;

export async function findHolders(reader: SqlReader, ids: readonly string[]): Promise<readonly Holder[]> {
  if (ids.length === 0) return [];
  const list = placeholders(ids.length);
  const sql = `${KEYS} WHERE k.id IN (${list}) AND ${HAD_CREDITS('k')}
    UNION ALL ${IDENTITIES} WHERE i.id IN (${list}) AND ${HAD_CREDITS('i')}
    UNION ALL ${GONE} WHERE c.owner IN (${list}) AND ${IS_GONE} ORDER BY id`;
  return (await reader.find<HolderRow>({ sql, params: [...ids] })).map(toHolder);
}

export async function listHolders(reader: SqlReader, query: HolderQuery): Promise<readonly Holder[]> {
  return (await reader.scan<HolderRow>(query.planId === null ? ofAll(query) : ofPlan(query.planId, query))).map(
    toHolder,
  );
}

/** Uses the indexes identities_of_plan and keys_of_plan. */
function ofPlan(planId: string, { after, limit }: HolderQuery): Statement {
  const sql = firstOf([
    `${IDENTITIES} WHERE i.plan_id = $1 AND i.id > $2 AND ${HAD_CREDITS('i')} ORDER BY i.id LIMIT $3`,
    `${KEYS} WHERE k.plan_id = $1 AND k.id > $2 AND ${IS_LIVE} AND ${HAD_CREDITS('k')} ORDER BY k.id LIMIT $3`,
  ]);
  return { sql: `${sql} LIMIT $3`, params: [planId, after ?? '', limit] };
}

/** Each part follows an index in the order of ids. So the database reads only the rows that it answers, and those without credits. */
function ofAll({ after, limit }: HolderQuery): Statement {
  const part = (select: string, id: string, condition: string): string =>
    `${select} WHERE ${id} > $1 AND ${condition} ORDER BY ${id} LIMIT $2`;
  const sql = firstOf([
    part(KEYS, 'k.id', HAD_CREDITS('k')),
    part(IDENTITIES, 'i.id', HAD_CREDITS('i')),
    part(GONE, 'c.owner', IS_GONE),
  ]);
  return { sql: `${sql} LIMIT $2`, params: [after ?? '', limit] };
}

function firstOf(parts: readonly string[]): string {
  return `${parts.map((part) => `SELECT * FROM (${part}) AS part`).join(' UNION ALL ')} ORDER BY id`;
}

function toHolder(row: HolderRow): Holder {
  return {
    id: row.id,
    apiId: row.api_id,
    externalId: row.external_id,
    credits: creditsOf(row),
    planId: row.plan_id,
    movesAtMs: readPlanMove(row.plan_move)?.atMs ?? null,
    isDeleted: row.is_deleted === 1,
  };
}

/** A rule that cannot be read must not hide what was used, nor the statements of others. */
function creditsOf({ credits, credits_account: account }: HolderRow): CreditsRecord | null {
  try {
    return readCredits(credits);
  } catch {
    return account === null ? null : { account, refill: null };
  }
}
