/// <reference lib="esnext.disposable" preserve="true" />
import type { EndedReservation, ReserveRequest } from './generated/api.ts';
import type { Sending } from './transport.ts';
import type { Verdict } from './verdict.ts';
import { newIdempotencyKey, toWire, type VerifyOptions } from './verifyRequest.ts';

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
export function toReserveWire(key: string, options: ReserveOptions): ReserveRequest {
  const { cost, ttlMs, onExpiry, ...asked } = options;
  const { idempotencyKey = newIdempotencyKey(), ...wire } = toWire(key, asked);
  return {
    ...wire,
    idempotencyKey,
    cost,
    ...(ttlMs === undefined ? {} : { ttlMs }),
    ...(onExpiry === undefined ? {} : { onExpiry }),
  };
}

type Send = (sending: Sending) => Promise<unknown>;

/**
 * A verdict, and the credits that are held if it is VALID. Close it in `finally`: what was neither settled nor released is released then.
 * `await using` closes it at the end of the block, where the runtime has that syntax.
 * When nothing is held, `settle` and `release` do nothing and answer null.
 */
export class HeldReservation {
  readonly verdict: Verdict;
  /** Absent when nothing is held. */
  readonly id: string | undefined;
  /** When the reservation expires, in unix milliseconds. Absent when nothing is held. */
  readonly expiresAt: number | undefined;
  readonly #send: Send;
  #isEnding = false;

  constructor(verdict: Verdict, send: Send) {
    const { reservationId, expiresAt } = verdict as { reservationId?: string; expiresAt?: number };
    this.verdict = verdict;
    this.id = reservationId;
    this.expiresAt = expiresAt;
    this.#send = send;
  }

  /** Charges what the call has cost, and returns the rest. To settle again with the same cost is safe. */
  settle(cost: number, { allowOverage }: SettleOptions = {}): Promise<EndedReservation | null> {
    return this.#end('settle', { cost, ...(allowOverage === undefined ? {} : { allowOverage }) });
  }

  /** Returns all: the call did not happen. */
  release(): Promise<EndedReservation | null> {
    return this.#end('release', {});
  }

  /**
   * Releases what nobody has tried to end. Never throws: a reservation that cannot be released now ends when it expires. So does one whose
   * settlement failed: the call has happened, and is not given away.
   */
  async close(): Promise<void> {
    if (!this.#isEnding) await this.release().catch(() => {});
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #end(method: 'settle' | 'release', fields: object): Promise<EndedReservation | null> {
    if (this.id === undefined) return null;
    this.#isEnding = true;
    const body = { reservationId: this.id, ...fields };
    const ended = await this.#send({ path: `/v1/reservations.${method}`, body, isRepeatable: true });
    return ended as EndedReservation;
  }
}
