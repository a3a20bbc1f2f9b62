export function emptyPockets(value) {
  return { counted: value, grants: [], held: 0, heldOwn: 0, heldUntilMs: 0 };
}
/** Takes an amount out of grants, in their order. Answers what is left of them, and what was taken. */
export function takeFrom(grants, amount) {
  const left = [];
  const taken = [];
  let rest = amount;
  for (const grant of grants) {
    const part = Math.min(rest, grant.left);
    rest -= part;
    if (part > 0) taken.push({ ...grant, left: part });
    if (part < grant.left) left.push({ ...grant, left: grant.left - part });
  }
  return { left, taken: { grants: taken, own: rest } };
}
/** What is left of the grants when the balance has fallen to `value`. */
export function leftOf({ grants, counted }, value) {
  return takeFrom(grants, Math.max(0, counted - value)).left;
}
/** The grants with one more, or with more of the same. */
export function withGrant(grants, grant) {
  const same = grants.find(({ id }) => id === grant.id);
  const others = grants.filter(({ id }) => id !== grant.id);
  const sum = { ...grant, left: grant.left + (same?.left ?? 0) };
  return [...others, sum].sort((a, b) => a.expiresAtMs - b.expiresAtMs);
}
export function sumOf(grants) {
  return grants.reduce((sum, { left }) => sum + left, 0);
}
/** The earlier of two instants, of which 0 means never. */
export function sooner(a, b) {
  if (a === 0 || b === 0) return a + b;
  return Math.min(a, b);
}
