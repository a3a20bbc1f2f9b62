import { longValueOf } from '../../../core/longValue.ts';
import { MAX_AUDITED_BYTES } from '../../../core/bounds.ts';
import type { AuditEntry } from '../../../storage/port/auditEntries.ts';

/** The entry as the log keeps it: each long member of `before` and `after` is a digest with its length. Events have the whole values. */
export function shortenedEntry(entry: AuditEntry, sha256: (text: string) => string): AuditEntry {
  const [before, after] = [shortened(entry.before, sha256), shortened(entry.after, sha256)];
  return before === entry.before && after === entry.after ? entry : { ...entry, before, after };
}

function shortened(text: string | null, sha256: (text: string) => string): string | null {
  // Most entries are short as a whole.
  if (text === null || text.length * 3 <= MAX_AUDITED_BYTES) return text;
  const members = Object.entries(JSON.parse(text) as object);
  const kept = members.map(([name, value]) => [name, longValueOf(JSON.stringify(value), sha256) ?? value] as const);
  return kept.every(([, value], i) => value === members[i]?.[1]) ? text : JSON.stringify(Object.fromEntries(kept));
}
