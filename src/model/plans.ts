import { metadata, part } from './plainFields.ts';
import { flag, key, number, optionalNumber, type RecordOf, recordTable, texts, uniqueText } from './columns.ts';
import { alertsField, planLimitsField, refillsField } from './columnsOfFields.ts';

/** What a caller sets and sees of a plan, and what decides nothing. */
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
  /** The balance of a new holder; null = the plan has no credits. It stays one or the other for all time. */
  remaining: optionalNumber('remaining'),
  /** Its holders are counted without a balance, and `remaining` is null. */
  metered: flag('metered'),
  /** Only ever added to: a refill that was missed follows the rule that was in force then. */
  refills: refillsField,
  limits: planLimitsField,
  roleIds: texts('roles'),
  permissionIds: texts('permissions'),
  maxKeys: optionalNumber('max_keys'),
  /** For its holders that have none themselves. */
  alerts: alertsField,
  createdAtMs: number('created_at_ms'),
  updatedAtMs: optionalNumber('updated_at_ms'),
  revision: number('revision'),
});

export interface PlanRecord extends RecordOf<typeof PLANS> {}
