/** Credits that expire. They are spent before those that do not, soonest expiry first. */
export interface Grant {
  readonly id: string;
  readonly left: number;
  readonly expiresAtMs: number;
}

/**
 * What an account needs beside its balance while it has grants that expire, or reservations. Spends do not update pockets. The next other
 * movement works out how much each pocket lost, in order.
 */
export interface Pockets {
  /** The balance when the pockets were last worked out. */
  readonly counted: number;
  /** Sorted by expiry. The rest of the balance does not expire. */
  readonly grants: readonly Grant[];
  /** What reservations hold. It is not in the balance. */
  readonly held: number;
  /** The part of it that does not expire. */
  readonly heldOwn: number;
  /** No reservation of the account expires before this instant; 0 = there is none. */
  readonly heldUntilMs: number;
  /** The newest reservation of the account. Whoever has read its reservations sees by this that none was made since. */
  readonly newest?: string;
}

/** Credits that were taken out of the pockets, in the order of taking. */
export interface Taken {
  readonly grants: readonly Grant[];
  /** From the credits that do not expire. */
  readonly own: number;
}

export function emptyPockets(value: number): Pockets {
  return { counted: value, grants: [], held: 0, heldOwn: 0, heldUntilMs: 0 };
}

/** A reservation of the account has expired and is not ended yet. Until it is, the balance is not that of this instant. */
export function holdsExpired(pockets: Pockets | null | undefined, atMs: number): boolean {
  return pockets != null && pockets.held > 0 && pockets.heldUntilMs !== 0 && pockets.heldUntilMs <= atMs;
}

/** Takes an amount out of grants, in their order. Answers what is left of them, and what was taken. */
export function takeFrom(grants: readonly Grant[], amount: number): { left: readonly Grant[]; taken: Taken } {
  const left: Grant[] = [];
  const taken: Grant[] = [];
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
export function leftOf({ grants, counted }: Pockets, value: number): readonly Grant[] {
  return takeFrom(grants, Math.max(0, counted - value)).left;
}

/** The grants with one more, or with more of the same. */
export function withGrant(grants: readonly Grant[], grant: Grant): readonly Grant[] {
  const same = grants.find(({ id }) => id === grant.id);
  const others = grants.filter(({ id }) => id !== grant.id);
  const sum = { ...grant, left: grant.left + (same?.left ?? 0) };
  return [...others, sum].sort((a, b) => a.expiresAtMs - b.expiresAtMs);
}

export function sumOf(grants: readonly Grant[]): number {
  return grants.reduce((sum, { left }) => sum + left, 0);
}

/** The earlier of two instants, of which 0 means never. */
export function sooner(a: number, b: number): number {
  if (a === 0 || b === 0) return a + b;
  return Math.min(a, b);
}
