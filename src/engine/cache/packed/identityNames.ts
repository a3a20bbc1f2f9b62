/** Nothing that JSON would write in another way. */
const PLAIN_TEXT = /^[ !#-[\]-~]*$/;
const BYTE = 0xff;

export interface Names {
  readonly id: string;
  readonly externalId: string;
}

/** Answers repeat them as they are. */
export function arePlain({ id, externalId }: Names): boolean {
  return PLAIN_TEXT.test(id) && PLAIN_TEXT.test(externalId);
}

/** Where the names are in a text that has them: start and length of each, a byte for each number. */
export function namePlaces(text: string, { id, externalId }: Names): number {
  return text.indexOf(id) | (id.length << 8) | (text.indexOf(externalId) << 16) | (externalId.length << 24);
}

export function idStart(places: number): number {
  return places & BYTE;
}

export function idLength(places: number): number {
  return (places >>> 8) & BYTE;
}

export function idIn(text: string, places: number): string {
  return text.slice(idStart(places), idStart(places) + idLength(places));
}

export function externalIdIn(text: string, places: number): string {
  const start = (places >>> 16) & BYTE;
  return text.slice(start, start + (places >>> 24));
}
