export const NO_FENCES = [];
/** The revision of a record that does not exist. */
export const ABSENT = -1;
/** The revision of a record that exists and never changes. */
const UNCHANGING = 0;
export function recordFence(kind, id, revision) {
  return { kind, id, name: '', revision };
}
export function permissionFence(id) {
  return { kind: 'permission', id, name: '', revision: UNCHANGING };
}
export function noOverrideFence(namespaceId, identifier) {
  return { kind: 'noOverride', id: namespaceId, name: identifier, revision: ABSENT };
}
export function patternsFence(namespaceId, revision) {
  return { kind: 'patterns', id: namespaceId, name: '', revision };
}
/** The name of the fenced record. Fences of one record with different revisions have the same name. */
export function fencedRecord({ kind, id, name }) {
  return `${kind} ${id} ${name}`;
}
