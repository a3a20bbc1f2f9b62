/** Credits that were granted and expire. They are spent before all others, soonest expiry first. */
export interface Grant {
  readonly id: string;
  readonly left: number;
  readonly expiresAtMs: number;
}

/**
 * What an account needs beside its balance while it has grants, or reservations. Spends do not update pockets. The next other movement works
 * out how much each pocket lost, in order: grants that expire, then the account's own credits, which refills raise, then lasting grants.
 */
export interface Pockets {
  /** The balance when the pockets were last worked out. */
  readonly counted: number;
  /** Sorted by expiry. */
  readonly grants: readonly Grant[];
  /** Credits that were granted and do not expire. Absent = none. */
  readonly lasting?: number;
  /** What reservations hold. It is not in the balance. */
  readonly held: number;
  /** The part of it that came from the account's own credits. */
  readonly heldOwn: number;
  /** No reservation of the account expires before this instant; 0 = there is none. */
  readonly heldUntilMs: number;
  /** The newest reservation of the account. A reader of its reservations sees by this whether one was made since. */
  readonly newest?: string;
}

/** Credits that were taken out of the pockets, in the order of taking. */
export interface Taken {
  readonly grants: readonly Grant[];
  /** From the account's own credits. */
  readonly own: number;
  /** From lasting grants. Absent = nothing. */
  readonly lasting?: number;
}

export function emptyPockets(value: number): Pockets {
  return { counted: value, grants: [], held: 0, heldOwn: 0, heldUntilMs: 0 };
}

/** A reservation of the account has expired and is not ended yet. Until it is, the balance is out of date. */
export function holdsExpired(pockets: Pockets | null | undefined, atMs: number): boolean {
  return pockets != null && pockets.held > 0 && pockets.heldUntilMs !== 0 && pockets.heldUntilMs <= atMs;
}

/** Takes an amount out of grants, in their order. Answers what is left of them, what was taken, and how much they did not have. */
export function takeFrom(
  grants: readonly Grant[],
  amount: number,
): { readonly left: readonly Grant[]; readonly taken: readonly Grant[]; readonly rest: number } {
  const left: Grant[] = [];
  const taken: Grant[] = [];
  let rest = amount;
  for (const grant of grants) {
    const part = Math.min(rest, grant.left);
    rest -= part;
    if (part > 0) taken.push({ ...grant, left: part });
    if (part < grant.left) left.push({ ...grant, left: grant.left - part });
  }
  return { left, taken, rest };
}

/** What is left of the grants when the balance has fallen to `value`. */
export function leftOf({ grants, counted }: Pockets, value: number): readonly Grant[] {
  return takeFrom(grants, Math.max(0, counted - value)).left;
}

/** How much of the lasting grants is left when the balance has fallen to `value`. They are spent last. */
export function lastingOf({ lasting = 0 }: Pockets, value: number): number {
  return Math.min(lasting, value);
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
