import { PLANS } from '../../model/plans.ts';
import { toRow } from '../../model/columns.ts';
import type { PlanWithPermissions } from '../port/records.ts';
import type { RecordWrite } from '../port/writes.ts';
import { readPermissions } from './permissions.ts';
import { insert, remove, type SqlReader, update, type WriteStatement } from './query/statement.ts';
import { COUNT_HOLDERS, findAny } from './query/queries.ts';
import { readableOf, type RecordRow, toPlan } from './query/recordRows.ts';

const BY_ID = { select: 'SELECT * FROM plans', column: 'id' };

/** The existing plans that can be read, each once, with their roles and permissions. */
export async function findPlans(reader: SqlReader, ids: readonly string[]): Promise<readonly PlanWithPermissions[]> {
  const plans = readableOf(await findAny<RecordRow>(reader, BY_ID, [...ids]), toPlan);
  const permissions = await readPermissions(reader, plans);
  return plans.map((plan, i) => ({ plan, permissions: permissions[i] ?? null }));
}

type PlanWrite = Extract<RecordWrite, { kind: 'insertPlan' | 'updatePlan' | 'removePlan' | 'joinPlan' }>;

export function planStatements(write: PlanWrite): readonly WriteStatement[] {
  switch (write.kind) {
    case 'insertPlan':
      return [insert('plans', toRow(PLANS, write.plan))];
    case 'updatePlan':
      return [update('plans', toRow(PLANS, write.plan), { id: write.plan.id, revision: write.expect })];
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

/** Changes nothing, but locks the row until the change is committed, so that no holder joins a plan that is being deleted. */
function lockPlan(id: string, revision: number): WriteStatement {
  return {
    sql: 'UPDATE plans SET revision = revision WHERE id = $1 AND revision = $2',
    params: [id, revision],
    expects: 1,
  };
}

/** The same for holders, which can join at the same time. */
function holdPlan(id: string, revision: number): WriteStatement {
  return {
    ...lockPlan(id, revision),
    onPostgres: 'SELECT 1 FROM plans WHERE id = $1 AND revision = $2 FOR SHARE',
  };
}

/** Changes nothing, but refuses the change if the plan has holders. */
function planWithoutHolders(id: string): WriteStatement {
  const sql = `UPDATE plans SET revision = revision WHERE id = $1 AND (${COUNT_HOLDERS}) = 0`;
  return { sql, params: [id], expects: 1 };
}
