import { flag, key, number, optionalNumber, type RecordOf, recordTable, texts, uniqueText } from './stored.ts';
import { alertsField, metaField, planLimitsField, refillsField } from './values.ts';

/**
 * What customers buy. Its holders refer to it and copy nothing: a change of the plan is a change for all of them. A field that a holder
 * has itself takes precedence.
 */
export const PLANS = recordTable('plans', {
  id: key('id'),
  name: uniqueText('name'),
  meta: metaField,
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
