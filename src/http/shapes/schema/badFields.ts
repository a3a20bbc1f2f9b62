import { MAX_ISSUES } from '../../../core/bounds.ts';
import { AppError, type Issue, repeatable } from '../../../core/errors.ts';
import { isReservedPrefix, OWN_PREFIXES } from '../../../core/secret.ts';
import type { RbacReference } from '../../../engine/admin/permissions.ts';

/** The problem of a prefix for new keys that Keystile's own secrets have. Keys and apis that have it already keep it. */
export function reservedPrefix(path: string, prefix: string): Issue[] {
  if (!isReservedPrefix(prefix)) return [];
  const own = Object.values(OWN_PREFIXES).join(', ');
  return [
    {
      path,
      message: `${path} must not be one that Keystile's own secrets begin with (${own}), got ${repeatable(prefix)}`,
    },
  ];
}

export function badFields(issues: readonly Issue[]): AppError {
  const shown = issues.slice(0, MAX_ISSUES);
  return new AppError('BAD_REQUEST', shown.map(({ message }) => message).join('; '), shown);
}

/** Adds problems of plain fields to these. */
export function told(issues: Issue[]): (name: string, problem: string) => void {
  return (name, problem) => void issues.push({ path: name, message: `${name} ${problem}` });
}

/** A problem of one item of a list. */
export function placed(item: string, path: string, message: string): Issue {
  return { path: path === '' ? item : `${item}.${path}`, message: `${item}: ${message}` };
}

/** Each reference has an id or a name. */
export function checkedReferences(
  list: readonly RbacReference[] | null,
  path: string,
  issues: Issue[],
): readonly RbacReference[] | null {
  for (const [i, { id, name, slug }] of (list ?? []).entries()) {
    if (id === undefined && name === undefined && slug === undefined)
      issues.push({ path: `${path}[${i}]`, message: `${path}[${i}] needs an id or a name` });
  }
  return list;
}
