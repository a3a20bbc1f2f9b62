import type { RecordWrite } from './writes.ts';

/** Kinds of writes come in the order of their ranks, and writes of one rank in the order of a name. */
type Place = readonly [rank: number, name: string];

/**
 * The writes that can share a commit with other changes. Each of them locks one row or claims one name. So writes in this order, however
 * many changes they belong to, cannot end in a deadlock with others in this order. Joins come last: what they count includes all keys.
 */
const PLACES: { readonly [K in RecordWrite['kind']]?: (write: Extract<RecordWrite, { kind: K }>) => Place } = {
  insertApi: ({ api }) => [0, api.id],
  insertIdentity: ({ identity }) => [1, identity.externalId],
  updateKey: ({ key }) => [2, key.id],
  removeKey: ({ key }) => [2, key.id],
  insertKey: ({ key }) => [3, key.secretDigest],
  insertCreditCall: ({ call }) => [4, call.id],
  // Former secrets change together with their key, whose row is locked. They keep their order.
  endSecrets: () => [4, ''],
  insertSecret: () => [4, ''],
  updateIdentity: ({ identity }) => [5, identity.id],
  joinIdentity: ({ identityId }) => [5, identityId],
  tellCredits: ({ account }) => [6, String(account)],
  tellLimit: ({ owner, name, durationMs }) => [7, `${owner} ${durationMs} ${name}`],
};

/** Whether a change with these writes can share a commit. The others are rare, and lock several rows or rows that many changes use. */
export function canShareCommit(writes: readonly RecordWrite[]): boolean {
  return writes.every(({ kind }) => PLACES[kind] !== undefined);
}

/** The writes in the order of their locks. Of writes that cannot share a commit, only the joins are moved. */
export function inLockOrder(writes: readonly RecordWrite[]): readonly RecordWrite[] {
  const joins = new Map<string, RecordWrite>();
  for (const write of writes) {
    if (write.kind !== 'joinIdentity') continue;
    joins.set(`${write.identityId} ${write.expect} ${write.maxKeys}`, write);
  }
  const others = joins.size === 0 ? writes : writes.filter(({ kind }) => kind !== 'joinIdentity');
  if (canShareCommit(writes)) return sorted([...others, ...joins.values()]);
  return [...others, ...sorted([...joins.values()])];
}

function sorted(writes: readonly RecordWrite[]): readonly RecordWrite[] {
  if (writes.length < 2) return writes;
  const placed = writes.map((write) => ({ write, place: placeOf(write) }));
  return placed.toSorted((a, b) => comparePlaces(a.place, b.place)).map(({ write }) => write);
}

function placeOf<K extends RecordWrite['kind']>(write: Extract<RecordWrite, { kind: K }>): Place {
  return (PLACES[write.kind] as (write: Extract<RecordWrite, { kind: K }>) => Place)(write);
}

function comparePlaces([rank, name]: Place, [otherRank, otherName]: Place): number {
  if (rank !== otherRank) return rank - otherRank;
  return name === otherName ? 0 : name < otherName ? -1 : 1;
}
