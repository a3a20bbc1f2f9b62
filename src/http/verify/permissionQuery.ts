import { MAX_PERMISSION_LENGTH, MAX_QUERY_PARTS } from '../../core/bounds.ts';
import type { Issue } from '../../core/errors.ts';
import type { PermissionQuery } from '../../core/permissions.ts';
import { MAX_ISSUES } from '../../core/bounds.ts';
import { given } from '../request/issueWords.ts';
import { badFields } from '../shapes/keys/keyFields.ts';
import { lengthOf } from '../../model/schema/textRules.ts';

const PATH = 'authorization.permissions';

/** The valid parts of a query, at any depth. */
export const QUERY_WORDS = `a permission of 1 to ${MAX_PERMISSION_LENGTH} characters, {and: [...]}, {or: [...]} or null`;

/**
 * Null: the query asks for nothing. Null entries are left out. A part without any entries left is refused, at any depth: leaving
 * it out would let requests pass that its author meant to refuse.
 */
export function toPermissionQuery(query: unknown): PermissionQuery | null {
  if (query === undefined) return null;
  const reading = new QueryReading();
  const read = reading.part(query, PATH);
  if (reading.issues.length > 0) throw badFields(reading.issues);
  return read;
}

/** Stops after the last problem that is reported, or at the first part beyond the maximum. */
class QueryReading {
  readonly issues: Issue[] = [];
  #parts = 0;

  part(query: unknown, path: string): PermissionQuery | null {
    if (++this.#parts === MAX_QUERY_PARTS + 1) {
      this.issues.push({
        path: PATH,
        message: `${PATH} must have at most ${MAX_QUERY_PARTS} parts, at all depths together`,
      });
    }
    if (query === null || this.#isOver()) return null;
    if (typeof query === 'string' && query !== '' && lengthOf(query) <= MAX_PERMISSION_LENGTH) return query;
    const members = typeof query === 'object' ? Object.entries(query) : [];
    const [[name, list] = ['', null]] = members;
    if (members.length === 1 && (name === 'and' || name === 'or') && Array.isArray(list)) {
      return this.#list(name, list, path);
    }
    this.issues.push({ path, message: `${path} must be ${QUERY_WORDS}, got ${given(path, query)}` });
    return null;
  }

  #list(name: 'and' | 'or', list: readonly unknown[], path: string): PermissionQuery | null {
    const parts: PermissionQuery[] = [];
    for (let i = 0; i < list.length && !this.#isOver(); i++) {
      const part = this.part(list[i], `${path}.${name}[${i}]`);
      if (part !== null) parts.push(part);
    }
    if (parts.length > 0) return name === 'and' ? { and: parts } : { or: parts };
    // The parts have reported their own problems already.
    if (!this.#isOver() && list.every((part) => part === null)) {
      this.issues.push({ path, message: `${path} names no permission; name one, or leave the field out` });
    }
    return null;
  }

  #isOver(): boolean {
    return this.#parts > MAX_QUERY_PARTS || this.issues.length >= MAX_ISSUES;
  }
}
