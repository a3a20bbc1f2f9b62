import { MAX_NAME_LENGTH } from '../core/bounds.ts';
import { line, metadata, onUnlessSaid, part } from './plainFields.ts';
import { key, number, numberFrom0, optionalNumber, type RecordOf, recordTable, uniqueText } from './columns.ts';
import { alertsField, creditsField, limitsField, ON_PLAN } from './columnsOfFields.ts';

/** The plain fields of an identity. They decide nothing beyond what their words say. */
export const IDENTITY_PLAIN = {
  name: line('name', { words: 'A name for people', min: 1, max: MAX_NAME_LENGTH, example: 'Acme Inc.' }),
  meta: metadata({
    words: 'Metadata of the customer, which verdicts of its keys repeat',
    example: { plan: 'pro' },
  }),
  enabled: onUnlessSaid('enabled', { off: 'verifications of all keys of the customer answer DISABLED' }),
};

/** A customer: a user or organisation that keys belong to, with the credits and limits that its keys share. */
export const IDENTITIES = recordTable('identities', {
  id: key('id'),
  externalId: uniqueText('external_id'),
  ...part(IDENTITY_PLAIN, 'stored'),
  /** How many keys it may have; null = any number. */
  maxKeys: optionalNumber('max_keys'),
  ...ON_PLAN,
  /** For its credits, and for those of its keys that set none themselves. null = those of its plan. */
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
  ...part(IDENTITY_PLAIN, 'blank'),
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
