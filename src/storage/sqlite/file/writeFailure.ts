/**
 * What a failed statement means for the ledger. Only `broken` and, for a write, `damaged` are final (`endsWriting`). After `broken` it is
 * unknown whether what is in memory is on disk, and a second flush can report success for pages that the kernel has already dropped.
 */
export type WriteFailureKind =
  /** No space: nothing was written. Writing works again when there is space. */
  | 'full'
  /** Another process holds the database: nothing was written. */
  | 'busy'
  /** A file could not be opened (too many are open): nothing was written. Writing works again when some are closed. */
  | 'unopened'
  /** An item of the batch breaks a constraint or was made from an older record. */
  | 'refused'
  /** A page of the file is not what it must be. What is on other pages can still be read; nothing is written to such a file any more. */
  | 'damaged'
  /** The disk or the file failed. */
  | 'broken';

/** After such a failure of a write, no further write is tried. */
export function endsWriting(kind: WriteFailureKind): kind is 'damaged' | 'broken' {
  return kind === 'broken' || kind === 'damaged';
}

/** Codes of the system and of SQLite. A commit opens no file, so after these nothing was committed. */
const UNOPENED = /^(EMFILE|ENFILE|SQLITE_CANTOPEN)/;

export class WriteFailure extends Error {
  override readonly name = 'WriteFailure';
  readonly kind: WriteFailureKind;

  constructor(kind: WriteFailureKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** A page of the file cannot be what was written, the file is no database, or the disk cannot read a sector of it. */
const DAMAGED = /^SQLITE_(?:CORRUPT|NOTADB|IOERR_(?:READ|SHORT_READ|CORRUPTFS|DATA)$)/;

/** The file or the disk is damaged. It does not matter which thread has read it. */
export function isDamage(error: unknown): boolean {
  const { kind } = toWriteFailure(error);
  return kind === 'damaged' || codeOf(error).startsWith('SQLITE_IOERR');
}

function codeOf(error: unknown): string {
  return (error as { code?: string } | null)?.code ?? '';
}

export function toWriteFailure(error: unknown): WriteFailure {
  if (error instanceof WriteFailure) return error;
  const code = codeOf(error);
  const said = error instanceof Error ? error.message : String(error);
  // Errors of the system begin with their code.
  const message = code === '' || said.startsWith(code) ? said : `${code}: ${said}`;
  if (code === 'SQLITE_FULL' || code === 'ENOSPC' || code === 'EDQUOT') return new WriteFailure('full', message);
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) return new WriteFailure('busy', message);
  if (UNOPENED.test(code)) return new WriteFailure('unopened', message);
  if (code.startsWith('SQLITE_CONSTRAINT') || code === 'SQLITE_MISMATCH' || code === 'SQLITE_TOOBIG') {
    return new WriteFailure('refused', message);
  }
  if (DAMAGED.test(code)) return new WriteFailure('damaged', message);
  // Everything else, too: an unknown failure of a commit must never count as harmless.
  return new WriteFailure('broken', message);
}
