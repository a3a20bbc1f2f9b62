/// <reference lib="esnext.disposable" preserve="true" />
import type { EndedReservation, ReserveRequest } from './generated/api.ts';
import type { Sending } from './transport.ts';
import type { Verdict } from './verdict.ts';
import { type VerifyOptions } from './verifyRequest.ts';
/** What a reservation asks for: what a verification does, and how long the credits are held. */
export interface ReserveOptions
  extends Omit<VerifyOptions, 'cost' | 'idempotent'>, Pick<ReserveRequest, 'ttlMs' | 'onExpiry'> {
  /** The credits to hold: the most that the call may cost. At least 1. */
  readonly cost: number;
}
export interface SettleOptions {
  /** A cost above the reservation takes the difference from the credits that are left, as far as they suffice. */
  readonly allowOverage?: boolean | undefined;
}
/** The options as the service reads them. Without an idempotency key of the caller it gets one, so that it can be repeated. */
export declare function toReserveWire(key: string, options: ReserveOptions): ReserveRequest;
type Send = (sending: Sending) => Promise<unknown>;
/**
 * A verdict, and the credits that are held if it is VALID. Close it in `finally`: what was neither settled nor released is released then.
 * `await using` closes it at the end of the block, where the runtime has that syntax.
 * When nothing is held, `settle` and `release` do nothing and answer null.
 */
export declare class HeldReservation {
  #private;
  readonly verdict: Verdict;
  /** Absent when nothing is held. */
  readonly id: string | undefined;
  /** When the reservation expires, in unix milliseconds. Absent when nothing is held. */
  readonly expiresAt: number | undefined;
  constructor(verdict: Verdict, send: Send);
  /** Charges what the call has cost, and returns the rest. To settle again with the same cost is safe. */
  settle(cost: number, { allowOverage }?: SettleOptions): Promise<EndedReservation | null>;
  /** Returns all: the call did not happen. */
  release(): Promise<EndedReservation | null>;
  /**
   * Releases what nobody has tried to end. Never throws: a reservation that cannot be released now ends when it expires. So does one whose
   * settlement failed: the call has happened, and is not given away.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
export {};
