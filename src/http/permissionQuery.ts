import { MAX_PERMISSION_LENGTH } from '../core/bounds.ts';
import type { Issue } from '../core/errors.ts';
import type { PermissionQuery } from '../core/permissions.ts';
import { badFields } from './keyFields.ts';

const PATH = 'authorization.permissions';

/** What can stand in a query, at any depth. */
export const QUERY_WORDS = `a permission of 1 to ${MAX_PERMISSION_LENGTH} characters, {and: [...]}, {or: [...]} or null`;

/**
 * null when nothing is asked. Null entries are left out; a part with nothing left in it is refused wherever it stands: left
 * out it would let pass what its author meant to hold back.
 */
export function toPermissionQuery(query: unknown): PermissionQuery | null {
  if (query === undefined) return null;
  const issues: Issue[] = [];
  const read = readQuery(query, PATH, issues);
  if (issues.length > 0) throw badFields(issues);
  return read;
}

function readQuery(query: unknown, path: string, issues: Issue[]): PermissionQuery | null {
  if (query === null) return null;
  if (typeof query === 'string' && query !== '' && Array.from(query).length <= MAX_PERMISSION_LENGTH) return query;
  const members = typeof query === 'object' ? Object.entries(query) : [];
  const [[name, list] = ['', null]] = members;
  if (members.length !== 1 || (name !== 'and' && name !== 'or') || !Array.isArray(list)) {
    issues.push({ path, message: `${path} must be ${QUERY_WORDS}` });
    return null;
  }
  const parts = list.flatMap((part, i) => readQuery(part, `${path}.${name}[${i}]`, issues) ?? []);
  if (parts.length === 0) {
    // Of parts that are wrong themselves enough is said.
    if (list.every((part) => part === null)) {
      issues.push({ path, message: `${path} asks for nothing; leave it out, or name a permission` });
    }
    return null;
  }
  return name === 'and' ? { and: parts } : { or: parts };
}
