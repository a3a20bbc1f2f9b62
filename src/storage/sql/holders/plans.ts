import { alertsOf } from '../../../core/alerts.ts';
import type { PlanRecord } from '../../../core/records.ts';
import type { PlanWithPermissions } from '../../port/records.ts';
import type { RecordWrite } from '../../port/writes.ts';
import { readMeta, readPlanLimits, readTexts, readVersions } from '../query/columns.ts';
import { findAny } from '../query/findAny.ts';
import { readPermissions } from '../keys/keyPermissions.ts';
import { readableOf } from '../query/recordRows.ts';
import { COUNT_HOLDERS } from '../query/queries.ts';
import {
  insert,
  listText,
  type Params,
  remove,
  type SqlReader,
  update,
  type WriteStatement,
} from '../query/statement.ts';

const PLANS = { select: 'SELECT * FROM plans', column: 'id' };

export interface PlanRow {
  id: string;
  name: string;
  meta: string | null;
  remaining: number | null;
  metered: number;
  refills: string;
  limits: string | null;
  roles: string | null;
  permissions: string | null;
  max_keys: number | null;
  expires_within_ms: number | null;
  credits_below: number | null;
  created_at_ms: number;
  updated_at_ms: number | null;
  revision: number;
}

export function toPlan(row: PlanRow): PlanRecord {
  return {
    id: row.id,
    name: row.name,
    meta: readMeta(row.meta),
    remaining: row.remaining,
    metered: row.metered !== 0,
    refills: readVersions(row.refills),
    limits: readPlanLimits(row.limits),
    roleIds: readTexts(row.roles, 'roles'),
    permissionIds: readTexts(row.permissions, 'permissions'),
    maxKeys: row.max_keys,
    alerts: alertsOf(row.expires_within_ms, row.credits_below),
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
    revision: row.revision,
  };
}

function planColumns(plan: PlanRecord): Record<string, Params[number]> {
  return {
    id: plan.id,
    name: plan.name,
    meta: plan.meta,
    remaining: plan.remaining,
    metered: plan.metered ? 1 : 0,
    refills: JSON.stringify(plan.refills),
    limits: listText(plan.limits),
    roles: listText(plan.roleIds),
    permissions: listText(plan.permissionIds),
    max_keys: plan.maxKeys,
    expires_within_ms: plan.alerts?.expiresWithinMs ?? null,
    credits_below: plan.alerts?.creditsBelow ?? null,
    created_at_ms: plan.createdAtMs,
    updated_at_ms: plan.updatedAtMs,
    revision: plan.revision,
  };
}

/** The plans that exist and can be read, each once, with their roles and permissions. */
export async function findPlans(reader: SqlReader, ids: readonly string[]): Promise<readonly PlanWithPermissions[]> {
  const plans = readableOf(await findAny<PlanRow>(reader, PLANS, [...ids]), toPlan);
  const permissions = await readPermissions(reader, plans);
  return plans.map((plan, i) => ({ plan, permissions: permissions[i] ?? null }));
}

type PlanWrite = Extract<RecordWrite, { kind: 'insertPlan' | 'updatePlan' | 'removePlan' | 'joinPlan' }>;

export function planStatements(write: PlanWrite): readonly WriteStatement[] {
  switch (write.kind) {
    case 'insertPlan':
      return [insert('plans', planColumns(write.plan))];
    case 'updatePlan':
      return [update('plans', planColumns(write.plan), { id: write.plan.id, revision: write.expect })];
    case 'removePlan':
      return [
        lockPlan(write.planId, write.expect),
        planWithoutHolders(write.planId),
        remove('plans', { id: write.planId }),
      ];
    case 'joinPlan':
      return [holdPlan(write.planId, write.expect)];
  }
}

/** Changes nothing, but holds the row until the change is committed: no holder joins a plan that is being deleted. */
function lockPlan(id: string, revision: number): WriteStatement {
  return {
    sql: 'UPDATE plans SET revision = revision WHERE id = $1 AND revision = $2',
    params: [id, revision],
    expects: 1,
  };
}

/** The same for holders: they join at the same time. */
function holdPlan(id: string, revision: number): WriteStatement {
  return {
    ...lockPlan(id, revision),
    onPostgres: 'SELECT 1 FROM plans WHERE id = $1 AND revision = $2 FOR SHARE',
  };
}

/** Changes nothing. Refuses the change when the plan has holders. */
function planWithoutHolders(id: string): WriteStatement {
  const sql = `UPDATE plans SET revision = revision WHERE id = $1 AND (${COUNT_HOLDERS}) = 0`;
  return { sql, params: [id], expects: 1 };
}
