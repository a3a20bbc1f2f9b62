import type { RecordWrite } from './writes.ts';

/** Writes are sorted by the number of their kind, then by name. */
type LockRank = readonly [kind: number, name: string];

/**
 * The writes that can share a commit with other changes. Each locks one row or claims one name. Commits that lock in this order cannot
 * deadlock with one another. A join counts the keys of an identity, so it comes after the writes of keys. Writes that count records of the
 * installation come last.
 */
const RANKS: { readonly [K in RecordWrite['kind']]?: (write: Extract<RecordWrite, { kind: K }>) => LockRank } = {
  insertApi: ({ api }) => [0, api.id],
  insertIdentity: ({ identity }) => [1, identity.externalId],
  updateKey: ({ key }) => [2, key.id],
  removeKey: ({ key }) => [2, key.id],
  insertKey: ({ key }) => [3, key.secretDigest],
  insertCreditCall: ({ call }) => [4, call.id],
  // Former secrets change together with their key, whose row is locked. So they keep their order.
  endSecrets: () => [4, ''],
  insertSecret: () => [4, ''],
  updateIdentity: ({ identity }) => [5, identity.id],
  joinIdentity: ({ identityId }) => [5, identityId],
  tellCredits: ({ account }) => [6, String(account)],
  tellLimit: ({ owner, name, durationMs }) => [7, `${owner} ${durationMs} ${name}`],
  requireAtMost: ({ what, of }) => [8, `${what} ${of ?? ''}`],
};

/** Whether a change with these writes can share a commit. The others are rare, and lock several rows or rows that many changes use. */
export function canShareCommit(writes: readonly RecordWrite[]): boolean {
  return writes.every(({ kind }) => RANKS[kind] !== undefined);
}

/** The writes in the order of their locks. If they cannot share a commit, only the writes that count are moved. */
export function inLockOrder(writes: readonly RecordWrite[]): readonly RecordWrite[] {
  const counting = new Map<string, RecordWrite>();
  const others: RecordWrite[] = [];
  for (const write of writes) {
    const name = nameOfCount(write);
    if (name === null) others.push(write);
    else counting.set(name, write);
  }
  if (canShareCommit(writes)) return sorted([...others, ...counting.values()]);
  return [...others, ...sorted([...counting.values()])];
}

/** Writes with the same key count the same and are merged. Null: the write counts nothing. */
function nameOfCount(write: RecordWrite): string | null {
  if (write.kind === 'joinIdentity') return `identity ${write.identityId} ${write.expect} ${write.maxKeys}`;
  if (write.kind === 'requireAtMost') return `${write.what} ${write.of} ${write.most}`;
  return null;
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
