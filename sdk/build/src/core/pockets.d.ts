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
}
/** Credits that were taken out of the pockets, in the order of taking. */
export interface Taken {
  readonly grants: readonly Grant[];
  /** From the credits that do not expire. */
  readonly own: number;
}
export declare function emptyPockets(value: number): Pockets;
/** Takes an amount out of grants, in their order. Answers what is left of them, and what was taken. */
export declare function takeFrom(
  grants: readonly Grant[],
  amount: number,
): {
  left: readonly Grant[];
  taken: Taken;
};
/** What is left of the grants when the balance has fallen to `value`. */
export declare function leftOf({ grants, counted }: Pockets, value: number): readonly Grant[];
/** The grants with one more, or with more of the same. */
export declare function withGrant(grants: readonly Grant[], grant: Grant): readonly Grant[];
export declare function sumOf(grants: readonly Grant[]): number;
/** The earlier of two instants, of which 0 means never. */
export declare function sooner(a: number, b: number): number;
