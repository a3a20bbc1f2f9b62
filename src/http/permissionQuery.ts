import { MAX_PERMISSION_LENGTH } from '../core/bounds.ts';
import type { Issue } from '../core/errors.ts';
import type { PermissionQuery } from '../core/permissions.ts';
import { badFields } from './keyFields.ts';

const PATH = 'authorization.permissions';

/** null when nothing is asked. Null entries are left out; a query with nothing left in it asks for nothing, and is refused. */
export function toPermissionQuery(query: unknown): PermissionQuery | null {
  if (query === undefined || query === null) return null;
  const issues: Issue[] = [];
  const read = readQuery(query, PATH, issues);
  if (read === null && issues.length === 0) {
    issues.push({ path: PATH, message: `${PATH} asks for nothing; leave it out, or name a permission` });
  }
  if (read === null || issues.length > 0) throw badFields(issues);
  return read;
}

function readQuery(query: unknown, path: string, issues: Issue[]): PermissionQuery | null {
  if (query === null) return null;
  if (typeof query === 'string' && query !== '' && [...query].length <= MAX_PERMISSION_LENGTH) return query;
  const members = typeof query === 'object' ? Object.entries(query) : [];
  const [[name, list] = ['', null]] = members;
  if (members.length !== 1 || (name !== 'and' && name !== 'or') || !Array.isArray(list)) {
    issues.push({
      path,
      message: `${path} must be a permission of 1 to ${MAX_PERMISSION_LENGTH} characters, {and: [...]}, {or: [...]} or null`,
    });
    return null;
  }
  const parts = list.flatMap((part, i) => readQuery(part, `${path}.${name}[${i}]`, issues) ?? []);
  if (parts.length === 0) return null;
  return name === 'and' ? { and: parts } : { or: parts };
}
