/**
 * A backup is one file:
 *
 *   keystile-backup 1                        the format; 2 = it is signed
 *   {"program":"0.1.0","madeAtMs":...}       what made it, and when it began
 *   {"name":"analytics.db","bytes":...}      the name and length of a part, then its bytes; and so on for every part
 *   sha256 ...                               the checksum of everything before this line
 *   hmac-sha256 ...                          in format 2, its signature (copySignature.ts)
 *
 * The format is in front, so that an older program can say that it does not know it. The checksum is at the end: a file that was cut
 * off has none.
 */
export const FORMATS = { unsigned: 1, signed: 2 } as const;
export const NEWEST_FORMAT = FORMATS.signed;

/** The only parts there are. A name is part of a path, so no other is accepted. */
export const PART_NAMES = ['analytics.db', 'keystile.db', 'encryption-key'] as const;
export type PartName = (typeof PART_NAMES)[number];

export interface BackupHeader {
  /** The version of the program that made it. */
  readonly program: string;
  /** Everything that was answered before this instant is in the backup. */
  readonly madeAtMs: number;
}

export interface PartHeader {
  readonly name: PartName;
  readonly bytes: number;
}

export const FORMAT_LINE = /^keystile-backup (\d{1,9})\n/;

export function formatLine(version: number): string {
  return `keystile-backup ${version}\n`;
}

const SIGNATURE_LINE = /^hmac-sha256 ([0-9a-f]{64})\n$/;

export function signatureLine(signature: string): string {
  return `hmac-sha256 ${signature}\n`;
}

export const SIGNATURE_BYTES = signatureLine('0'.repeat(64)).length;

/** null = this is no such line. */
export function readSignature(line: string): string | null {
  return SIGNATURE_LINE.exec(line)?.[1] ?? null;
}

const CHECKSUM_LINE = /^sha256 ([0-9a-f]{64})\n$/;

export function checksumLine(digest: string): string {
  return `sha256 ${digest}\n`;
}

export const CHECKSUM_BYTES = checksumLine('0'.repeat(64)).length;

/** null = this is no such line. */
export function readChecksum(line: string): string | null {
  return CHECKSUM_LINE.exec(line)?.[1] ?? null;
}

/** Read and hashed at once. Small, because the thread that answers requests does it during a scheduled backup. */
export const CHUNK_BYTES = 256 * 1024;

/** Longer than any line in front of a part. */
export const MAX_LINE_BYTES = 4096;

/** Messages show it, and a file can be forged: nothing that a terminal obeys is in it. */
const PROGRAM_PATTERN = /^[\w.+-]{1,64}$/;

export function readHeader(line: string): BackupHeader | null {
  const { program, madeAtMs } = parsed(line);
  const isProgram = typeof program === 'string' && PROGRAM_PATTERN.test(program);
  return isProgram && isSize(madeAtMs) ? { program, madeAtMs } : null;
}

export function readPartHeader(line: string): PartHeader | null {
  const { name, bytes } = parsed(line);
  const known = PART_NAMES.find((each) => each === name);
  return known !== undefined && isSize(bytes) ? { name: known, bytes } : null;
}

function isSize(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function parsed(line: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
