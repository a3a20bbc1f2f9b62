/** Makes room for another one: what was added first goes. */
export function dropFirst(collection: Map<string, unknown> | Set<string>): void {
  const first = collection.keys().next();
  if (first.done !== true) collection.delete(first.value);
}
