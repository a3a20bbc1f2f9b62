import { MAX_STARS_PER_PATTERN } from './bounds.ts';

/** An identifier of overrides with `*`, which stands for any run of characters, also for none. */
export interface IdentifierPattern {
  /** What stands before the first star and behind the last. */
  readonly first: string;
  readonly last: string;
  /** What stands between stars. */
  readonly between: readonly string[];
}

export function isPattern(identifier: string): boolean {
  return identifier.includes('*');
}

/** So many stars that to hold an identifier against it takes long. */
export function hasTooManyStars(identifier: string): boolean {
  return identifier.split('*').length - 1 > MAX_STARS_PER_PATTERN;
}

export function toPattern(identifier: string): IdentifierPattern {
  const parts = identifier.split('*');
  return { first: parts[0] ?? '', last: parts.at(-1) ?? '', between: parts.slice(1, -1).filter((part) => part !== '') };
}

/**
 * Each part is taken at its first occurrence behind the one before, which finds a match wherever there is one. Not a
 * regular expression: a pattern of many stars could keep one busy for very long.
 */
export function matchesPattern({ first, last, between }: IdentifierPattern, identifier: string): boolean {
  const end = identifier.length - last.length;
  if (end < first.length || !identifier.startsWith(first) || !identifier.endsWith(last)) return false;
  let from = first.length;
  for (const part of between) {
    const at = identifier.indexOf(part, from);
    if (at < 0 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
}
