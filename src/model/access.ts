import {
  json,
  key,
  number,
  optionalNumber,
  optionalText,
  type RecordOf,
  recordTable,
  text,
  texts,
  uniqueText,
} from './stored.ts';

export const PERMISSIONS = recordTable('permissions', {
  id: key('id'),
  name: uniqueText('name'),
  /** The text that a verification asks for. */
  slug: uniqueText('slug'),
  description: optionalText('description'),
  createdAtMs: number('created_at_ms'),
});

export interface PermissionRecord extends RecordOf<typeof PERMISSIONS> {}

export const ROLES = recordTable('roles', {
  id: key('id'),
  name: uniqueText('name'),
  description: optionalText('description'),
  permissionIds: texts('permissions'),
  createdAtMs: number('created_at_ms'),
  revision: number('revision'),
});

export interface RoleRecord extends RecordOf<typeof ROLES> {}

export const ROOT_KEYS = recordTable('root_keys', {
  id: key('id'),
  secretDigest: uniqueText('secret_digest'),
  start: text('start'),
  name: optionalText('name'),
  rights: json('rights', readRights),
  createdAtMs: number('created_at_ms'),
  expiresAtMs: optionalNumber('expires_at_ms'),
  revokedAtMs: optionalNumber('revoked_at_ms'),
});

export interface RootKeyRecord extends RecordOf<typeof ROOT_KEYS> {}

/** A root key whose rights cannot be read has none. */
function readRights(cell: string): readonly string[] {
  try {
    const rights = JSON.parse(cell) as unknown;
    return Array.isArray(rights) ? rights.filter((right) => typeof right === 'string') : [];
  } catch {
    return [];
  }
}
