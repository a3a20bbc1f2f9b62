/** An identifier of overrides with `*`, which stands for any run of characters, also for none. */
export interface IdentifierPattern {
  /** What stands before, between and behind the stars. */
  readonly parts: readonly string[];
}

export function isPattern(identifier: string): boolean {
  return identifier.includes('*');
}

export function toPattern(identifier: string): IdentifierPattern {
  return { parts: identifier.split('*') };
}

/**
 * Each part is taken at its first occurrence behind the one before, which finds a match wherever there is one. Not a
 * regular expression: a pattern of many stars could keep one busy for very long.
 */
export function matchesPattern({ parts }: IdentifierPattern, identifier: string): boolean {
  const first = parts[0] ?? '';
  const last = parts.at(-1) ?? '';
  const end = identifier.length - last.length;
  if (end < first.length || !identifier.startsWith(first) || !identifier.endsWith(last)) return false;
  let from = first.length;
  for (let i = 1; i < parts.length - 1; i++) {
    const part = parts[i] ?? '';
    const at = identifier.indexOf(part, from);
    if (at < 0 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
}
