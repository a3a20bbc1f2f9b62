import {
  flag,
  key,
  number,
  numberFrom0,
  optionalNumber,
  optionalText,
  type RecordOf,
  recordTable,
  uniqueText,
} from './stored.ts';
import { alertsField, creditsField, limitsField, metaField, ON_PLAN } from './values.ts';

/** A user, customer or organisation that keys belong to, with the credits and limits that its keys share. */
export const IDENTITIES = recordTable('identities', {
  id: key('id'),
  externalId: uniqueText('external_id'),
  name: optionalText('name'),
  meta: metaField,
  /** False: none of its keys is valid. */
  enabled: flag('enabled'),
  /** How many keys it may have; null = any number. */
  maxKeys: optionalNumber('max_keys'),
  ...ON_PLAN,
  /** Of its credits, and of its keys that have none themselves. null = those of its plan. */
  alerts: alertsField,
  credits: creditsField,
  limits: limitsField,
  createdAtMs: number('created_at_ms'),
  updatedAtMs: optionalNumber('updated_at_ms'),
  revision: numberFrom0('revision'),
});

export interface IdentityRecord extends RecordOf<typeof IDENTITIES> {}

/** An identity without any settings. */
export const BLANK_IDENTITY: IdentityRecord = {
  id: '',
  externalId: '',
  name: null,
  meta: null,
  enabled: true,
  maxKeys: null,
  planId: null,
  planMove: null,
  alerts: null,
  credits: null,
  limits: [],
  createdAtMs: 0,
  updatedAtMs: null,
  revision: 0,
};
