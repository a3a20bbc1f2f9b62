import { base58, base58Length, base58Number } from '../basics/base58.ts';

type IdPrefix =
  | 'key'
  | 'api'
  | 'req'
  | 'id'
  | 'rk'
  | 'ses'
  | 'portal'
  | 'ws'
  | 'node'
  | 'folder'
  | 'perm'
  | 'role'
  | 'plan'
  | 'ns'
  | 'ovr'
  | 'imp'
  | 'export'
  | 'evt'
  | 'grant'
  | 'adj'
  | 'assign'
  | 'rsv'
  | 'wh';

/** 58^8 milliseconds reach the year 6032. The width is fixed, so that ids sort by their time. */
const TIME_WIDTH = 8;

/** Random bytes after the time. With a million ids in one millisecond, the chance of a collision is below 10^-11. */
export const ID_RANDOM_BYTES = 10;

/** The text begins like an id. A secret can begin so too; its checksum tells them apart. */
export function looksLikeId(text: string): boolean {
  return /^(key|api|id|rk|ws|perm|role|plan|ns|ovr|evt|wh|rsv)_\w{1,64}$/.test(text);
}

/** A pattern of the ids that `makeId` makes. */
export function idPattern(prefix: IdPrefix): string {
  return `^${prefix}_[1-9A-HJ-NP-Za-km-z]{${TIME_WIDTH + base58Length(ID_RANDOM_BYTES)}}$`;
}

/** Makes `key_<time><random>`. Ids sort by time, so that an index grows at its end and a listing by id is one by age. */
export function makeId(prefix: IdPrefix, nowMs: number, random: Uint8Array): string {
  return `${prefix}_${base58Number(Math.floor(nowMs), TIME_WIDTH)}${base58(random)}`;
}
