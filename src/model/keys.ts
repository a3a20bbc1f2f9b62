import { MAX_ENVIRONMENT_LENGTH, MAX_NAME_LENGTH } from '../core/bounds.ts';
import { line, metadata, onUnlessSaid, part } from './plainFields.ts';
import {
  key,
  number,
  numberFrom0,
  optionalNumber,
  optionalText,
  type RecordOf,
  recordTable,
  text,
  texts,
  uniqueText,
} from './columns.ts';
import { alertsField, creditsField, expiryField, limitsField, ON_PLAN } from './columnsOfFields.ts';

/** The plain fields of a key. They decide nothing beyond what their words say. */
export const KEY_PLAIN = {
  name: line('name', {
    words: 'A name for people',
    min: 0,
    max: MAX_NAME_LENGTH,
    more: 'It need not be unique.',
    example: 'Ann, production',
  }),
  meta: metadata({ words: 'Metadata of the key, which every verdict repeats', example: { plan: 'free' } }),
  environment: line('environment', {
    words: 'A text that every verdict repeats, such as the environment that the key is for',
    min: 0,
    max: MAX_ENVIRONMENT_LENGTH,
    example: 'production',
  }),
  enabled: onUnlessSaid('enabled', { off: 'verifications of the key answer DISABLED' }),
};

export const KEYS = recordTable('keys', {
  id: key('id'),
  apiId: text('api_id'),
  /** A key with an identity has no plan of its own: it uses that of its identity. */
  identityId: optionalText('identity_id'),
  secretDigest: uniqueText('secret_digest'),
  start: text('start'),
  /** Random bytes of the secret. A rotated secret has as many. null = the key was imported. */
  byteLength: optionalNumber('byte_length'),
  ...part(KEY_PLAIN, 'stored'),
  expiresAtMs: expiryField,
  credits: creditsField,
  limits: limitsField,
  ipAllowlist: texts('ip_allowlist'),
  ...ON_PLAN,
  /** null = those of its identity, or of its identity's plan. */
  alerts: alertsField,
  /** The expiry for which `key.expiring` was sent; null = it was not sent yet. */
  toldExpiryMs: optionalNumber('told_expiry_ms'),
  /** May still contain ids of deleted roles and permissions. Such an id has no effect. */
  roleIds: texts('roles'),
  permissionIds: texts('permissions'),
  /** The generation that its api had when the key was made or restored. Deleting all keys of an api begins a new generation. */
  generation: numberFrom0('generation'),
  createdAtMs: number('created_at_ms'),
  updatedAtMs: optionalNumber('updated_at_ms'),
  deletedAtMs: optionalNumber('deleted_at_ms'),
  /** Grows with every change. A spend names the revision that it was decided under. */
  revision: number('revision'),
});

export interface KeyRecord extends RecordOf<typeof KEYS> {}

/** A key without any settings. */
export const BLANK_KEY: KeyRecord = {
  id: '',
  apiId: '',
  identityId: null,
  secretDigest: '',
  start: '',
  byteLength: null,
  ...part(KEY_PLAIN, 'blank'),
  expiresAtMs: null,
  credits: null,
  limits: [],
  ipAllowlist: [],
  planId: null,
  planMove: null,
  alerts: null,
  toldExpiryMs: null,
  roleIds: [],
  permissionIds: [],
  generation: 0,
  createdAtMs: 0,
  updatedAtMs: null,
  deletedAtMs: null,
  revision: 0,
};
