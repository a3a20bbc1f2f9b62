/** Nothing that JSON would write in another way. */
const PLAIN_TEXT = /^[ !#-[\]-~]*$/;
export const BYTE = 0xff;

export interface Names {
  readonly id: string;
  readonly externalId: string;
}

/** Answers repeat them as they are. */
export function arePlain({ id, externalId }: Names): boolean {
  return PLAIN_TEXT.test(id) && PLAIN_TEXT.test(externalId);
}

/** Where the names are in a text that has them: start and length of each, a byte for each number. */
export function namesIn(text: string, { id, externalId }: Names): number {
  return text.indexOf(id) | (id.length << 8) | (text.indexOf(externalId) << 16) | (externalId.length << 24);
}

export function idStart(names: number): number {
  return names & BYTE;
}

export function idLength(names: number): number {
  return (names >>> 8) & BYTE;
}

export function idIn(text: string, names: number): string {
  return text.slice(idStart(names), idStart(names) + idLength(names));
}

export function externalIdIn(text: string, names: number): string {
  const start = (names >>> 16) & BYTE;
  return text.slice(start, start + (names >>> 24));
}
