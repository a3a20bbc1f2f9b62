import { MAX_STARS_PER_PATTERN } from './bounds.ts';

/** An override's identifier with `*`. A star stands for any run of characters, also for none. */
export interface IdentifierPattern {
  /** The text before the first star, and the text after the last. */
  readonly first: string;
  readonly last: string;
  /** The texts between stars. */
  readonly between: readonly string[];
}

export function isPattern(identifier: string): boolean {
  return identifier.includes('*');
}

/** Comparing an identifier with a pattern of more stars takes too long. */
export function hasTooManyStars(identifier: string): boolean {
  return identifier.split('*').length - 1 > MAX_STARS_PER_PATTERN;
}

export function toPattern(identifier: string): IdentifierPattern {
  const parts = identifier.split('*');
  return { first: parts[0] ?? '', last: parts.at(-1) ?? '', between: parts.slice(1, -1).filter((part) => part !== '') };
}

/**
 * Each text is matched at its first occurrence after the one before. That finds a match wherever there is one. A regular
 * expression could take very long on a pattern of many stars.
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
