/** Drops the item that was added first, so that one more fits. */
export function dropFirst<K>(collection: Map<K, unknown> | Set<K>): void {
  const first = collection.keys().next();
  if (first.done !== true) collection.delete(first.value);
}
