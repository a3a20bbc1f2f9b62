export type IdPrefix =
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
  | 'rsv'
  | 'wh';
/** Random bytes after the time. With a million ids in one millisecond, the chance of a collision is below 10^-11. */
export declare const ID_RANDOM_BYTES = 10;
/** The text begins like an id. A secret can begin so too; its checksum tells them apart. */
export declare function looksLikeId(text: string): boolean;
/** A pattern of the ids that `makeId` makes. */
export declare function idPattern(prefix: IdPrefix): string;
/** Makes `key_<time><random>`. Ids sort by time, so that an index grows at its end and a listing by id is one by age. */
export declare function makeId(prefix: IdPrefix, nowMs: number, random: Uint8Array): string;
