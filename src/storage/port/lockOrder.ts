import type { RecordWrite } from './writes.ts';

type Join = Extract<RecordWrite, { kind: 'joinIdentity' }>;

/**
 * The joins of identities come last, each identity once, in the order of their ids. So what they count includes all keys of the change, and
 * two changes that join the same identities cannot end in a deadlock.
 */
export function inLockOrder(writes: readonly RecordWrite[]): readonly RecordWrite[] {
  const joins = new Map<string, Join>();
  for (const write of writes) if (write.kind === 'joinIdentity') joins.set(write.identityId, write);
  if (joins.size === 0) return writes;
  const others = writes.filter(({ kind }) => kind !== 'joinIdentity');
  const sorted = [...joins.values()].toSorted((a, b) => (a.identityId < b.identityId ? -1 : 1));
  return [...others, ...sorted];
}
