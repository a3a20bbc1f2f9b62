const UTF8 = new TextEncoder();

/** What the audit log keeps instead of a value that is too long: its digest, and the length of its JSON. */
interface LongValue {
  readonly sha256: string;
  readonly bytes: number;
}

/**
 * Null: the value is kept, because its JSON has at most `maxBytes`. A value that looks like a replacement is always replaced, so that
 * nobody can forge one.
 */
export function longValueOf(value: unknown, maxBytes: number, sha256: (text: string) => string): LongValue | null {
  const json = JSON.stringify(value);
  const isKept = describeLongValue(value) === null;
  // No character takes more than three bytes of UTF-8.
  if (isKept && json.length * 3 <= maxBytes) return null;
  const bytes = UTF8.encode(json).length;
  return isKept && bytes <= maxBytes ? null : { sha256: sha256(json), bytes };
}

/**
 * Shows the replacement of a long value in an entry of the audit log: "(not kept: 16384 bytes, SHA-256 0f3a9c1b...)". Null: it is another
 * value.
 */
export function describeLongValue(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || Object.keys(value).join() !== 'sha256,bytes') return null;
  const { sha256, bytes } = value as Partial<LongValue>;
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256) || typeof bytes !== 'number') return null;
  return `(not kept: ${bytes} bytes, SHA-256 ${sha256.slice(0, 8)}...)`;
}
