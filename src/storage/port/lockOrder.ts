import type { RecordWrite } from './writes.ts';

/** Writes are sorted by the number of their kind, then by name. */
type LockRank = readonly [kind: number, name: string];

/**
 * The writes that can share a commit with other changes. Each of them locks one row or claims one name. Commits that lock in this
 * order cannot end in a deadlock with one another. A join counts the keys of an identity, so it comes after the writes of keys.
 */
const RANKS: { readonly [K in RecordWrite['kind']]?: (write: Extract<RecordWrite, { kind: K }>) => LockRank } = {
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
  return writes.every(({ kind }) => RANKS[kind] !== undefined);
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
  const ranked = writes.map((write) => ({ write, rank: rankOf(write) }));
  return ranked.toSorted((a, b) => compareRanks(a.rank, b.rank)).map(({ write }) => write);
}

function rankOf<K extends RecordWrite['kind']>(write: Extract<RecordWrite, { kind: K }>): LockRank {
  return (RANKS[write.kind] as (write: Extract<RecordWrite, { kind: K }>) => LockRank)(write);
}

function compareRanks([kind, name]: LockRank, [otherKind, otherName]: LockRank): number {
  if (kind !== otherKind) return kind - otherKind;
  return name === otherName ? 0 : name < otherName ? -1 : 1;
}
