import { MAX_AUDITED_BYTES, MAX_AUDITED_LIST_BYTES } from '../../../core/bounds.ts';
import { longValueOf } from '../../../core/longValue.ts';
import type { AuditEntry } from '../../../storage/port/auditEntries.ts';

type Digest = (text: string) => string;

/**
 * The entry as the log keeps it: each long member of `before` and `after` is a digest with its length. Of a list the short values in its
 * items stay, such as the ids of what was changed. Events have the whole values.
 */
export function shortenedEntry(entry: AuditEntry, sha256: Digest): AuditEntry {
  const [before, after] = [shortened(entry.before, sha256), shortened(entry.after, sha256)];
  return before === entry.before && after === entry.after ? entry : { ...entry, before, after };
}

function shortened(text: string | null, sha256: Digest): string | null {
  // Most entries are short as a whole.
  if (text === null || text.length * 3 <= MAX_AUDITED_BYTES) return text;
  return JSON.stringify(withShortMembers(JSON.parse(text) as object, sha256));
}

function withShortMembers(facts: object, sha256: Digest): object {
  return Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, shortValue(value, sha256)]));
}

function shortValue(value: unknown, sha256: Digest): unknown {
  if (!Array.isArray(value)) return longValueOf(value, MAX_AUDITED_BYTES, sha256) ?? value;
  const items = value.map((item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? withShortMembers(item, sha256)
      : (longValueOf(item, MAX_AUDITED_BYTES, sha256) ?? item),
  );
  return longValueOf(items, MAX_AUDITED_LIST_BYTES, sha256) === null
    ? items
    : longValueOf(value, MAX_AUDITED_LIST_BYTES, sha256);
}
