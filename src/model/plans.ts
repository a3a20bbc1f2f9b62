import { metadata, part } from './plainFields.ts';
import { flag, key, number, optionalNumber, type RecordOf, recordTable, texts, uniqueText } from './columns.ts';
import { alertsField, planLimitsField, refillsField } from './columnsOfFields.ts';

/** The plain fields of a plan. They decide nothing. */
export const PLAN_PLAIN = {
  meta: metadata({ words: 'Metadata of the plan, which is not part of verdicts', example: { price: '29 EUR' } }),
};

/**
 * What customers buy. Its holders refer to it and copy nothing: a change of the plan is a change for all of them. A field that a holder
 * has itself takes precedence.
 */
export const PLANS = recordTable('plans', {
  id: key('id'),
  name: uniqueText('name'),
  ...part(PLAN_PLAIN, 'stored'),
  /** The credits of a new holder; null = the plan has no credits. Whether it has some never changes. */
  remaining: optionalNumber('remaining'),
  /** Its holders are counted without a balance, and `remaining` is null. */
  metered: flag('metered'),
  /** Only ever added to: a refill that was missed follows the rule that was in force then. */
  refills: refillsField,
  limits: planLimitsField,
  roleIds: texts('roles'),
  permissionIds: texts('permissions'),
  maxKeys: optionalNumber('max_keys'),
  /** For its holders that set none themselves. */
  alerts: alertsField,
  createdAtMs: number('created_at_ms'),
  updatedAtMs: optionalNumber('updated_at_ms'),
  revision: number('revision'),
});

export interface PlanRecord extends RecordOf<typeof PLANS> {}
