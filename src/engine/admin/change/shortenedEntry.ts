import { MAX_AUDITED_BYTES, MAX_AUDITED_LIST_BYTES } from '../../../core/bounds.ts';
import { longValueOf } from '../../../core/longValue.ts';
import type { AuditEntry } from '../../../storage/port/auditEntries.ts';

type Digest = (text: string) => string;

/** What users keep at a record, for themselves. Nothing is decided by it. */
const METADATA = 'meta';

/**
 * The entry as the log keeps it: long metadata, wherever it is, is a digest with its length, and so is a list of a length that only many
 * requests together can make. Everything else stays, such as the rights of a root key and the URL of a webhook: whoever does harm must not
 * be able to make it unreadable. Events have the whole values.
 */
export function shortenedEntry(entry: AuditEntry, sha256: Digest): AuditEntry {
  const [before, after] = [shortened(entry.before, sha256), shortened(entry.after, sha256)];
  return before === entry.before && after === entry.after ? entry : { ...entry, before, after };
}

function shortened(text: string | null, sha256: Digest): string | null {
  // Most entries are short as a whole, and have nothing that looks like a digest.
  if (text === null || (text.length * 3 <= MAX_AUDITED_BYTES && !text.includes('"sha256"'))) return text;
  return JSON.stringify(shortValue(JSON.parse(text), sha256));
}

function shortValue(value: unknown, sha256: Digest): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => shortValue(item, sha256));
    return longValueOf(items, MAX_AUDITED_LIST_BYTES, sha256) === null
      ? items
      : longValueOf(value, MAX_AUDITED_LIST_BYTES, sha256);
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, member]: [string, unknown]) => [
      name,
      name === METADATA ? (longValueOf(member, MAX_AUDITED_BYTES, sha256) ?? member) : shortValue(member, sha256),
    ]),
  );
}
