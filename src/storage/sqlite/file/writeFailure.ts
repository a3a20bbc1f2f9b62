/**
 * What a failed statement means for the ledger. Only `broken` and, for a write, `damaged` are final (`endsWriting`). After `broken` it is
 * unknown whether memory equals the disk, and a second flush can report success for pages that the kernel has already dropped.
 */
export type WriteFailureKind =
  /** No space. Nothing was written. Writing works again when there is space. */
  | 'full'
  /** Another process has locked the database. Nothing was written. */
  | 'busy'
  /** A file could not be opened, because too many are open. Nothing was written. Writing works again when some are closed. */
  | 'unopened'
  /** An item of the batch breaks a constraint or was made from an older record. */
  | 'refused'
  /** A page of the file is damaged. Other pages can still be read, but nothing is written to the file any more. */
  | 'damaged'
  /** The disk or the file failed. */
  | 'broken';

/** After a write has failed like this, no further write is tried. */
export function endsWriting(kind: WriteFailureKind): kind is 'damaged' | 'broken' {
  return kind === 'broken' || kind === 'damaged';
}

/** Codes of the system and of SQLite. A commit opens no file, so nothing was committed after these. */
const UNOPENED = /^(EMFILE|ENFILE|SQLITE_CANTOPEN)/;

export class WriteFailure extends Error {
  override readonly name = 'WriteFailure';
  readonly kind: WriteFailureKind;

  constructor(kind: WriteFailureKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** A page of the file cannot be what was written, the file is not a database, or the disk cannot read a sector of it. */
const DAMAGED = /^SQLITE_(?:CORRUPT|NOTADB|IOERR_(?:READ|SHORT_READ|CORRUPTFS|DATA)$)/;

/** The file or the disk is damaged, whichever thread has read it. */
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
  // This includes everything else: an unknown failure of a commit must never count as harmless.
  return new WriteFailure('broken', message);
}
