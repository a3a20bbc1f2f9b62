import { MAX_DESCRIPTION_LENGTH } from '../core/bounds.ts';
import { line, part } from './plainFields.ts';
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
} from './columns.ts';

const description = line('description', {
  words: 'A description for people',
  min: 0,
  max: MAX_DESCRIPTION_LENGTH,
  example: 'May read and write documents',
});

/** The plain fields of a permission and of a role. They decide nothing. */
export const PERMISSION_PLAIN = { description };
export const ROLE_PLAIN = { description };

export const PERMISSIONS = recordTable('permissions', {
  id: key('id'),
  name: uniqueText('name'),
  /** The text that a verification asks for. */
  slug: uniqueText('slug'),
  ...part(PERMISSION_PLAIN, 'stored'),
  createdAtMs: number('created_at_ms'),
});

export interface PermissionRecord extends RecordOf<typeof PERMISSIONS> {}

export type PermissionPlain = Pick<PermissionRecord, keyof typeof PERMISSION_PLAIN>;
export type NewPermission = Pick<PermissionRecord, 'name' | 'slug'> & Partial<PermissionPlain>;

export const ROLES = recordTable('roles', {
  id: key('id'),
  name: uniqueText('name'),
  ...part(ROLE_PLAIN, 'stored'),
  permissionIds: texts('permissions'),
  createdAtMs: number('created_at_ms'),
  revision: number('revision'),
});

export interface RoleRecord extends RecordOf<typeof ROLES> {}

export type RolePlain = Pick<RoleRecord, keyof typeof ROLE_PLAIN>;
export type NewRole = Pick<RoleRecord, 'name'> & Partial<RolePlain>;

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
