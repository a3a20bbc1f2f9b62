/** Drops what was added first, so that one more fits. */
export function dropFirst(collection: Map<string, unknown> | Set<string>): void {
  const first = collection.keys().next();
  if (first.done !== true) collection.delete(first.value);
}
