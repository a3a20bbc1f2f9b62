import { newIdempotencyKey, toWire } from './verifyRequest.js';
/** The options as the service reads them. Without an idempotency key of the caller it gets one, so that it can be repeated. */
export function toReserveWire(key, options) {
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
/**
 * A verdict, and the credits that are held if it is VALID. Close it in `finally`: what was neither settled nor released is released then.
 * `await using` closes it at the end of the block, where the runtime has that syntax.
 * When nothing is held, `settle` and `release` do nothing and answer null.
 */
export class HeldReservation {
  verdict;
  /** Absent when nothing is held. */
  id;
  /** When the reservation expires, in unix milliseconds. Absent when nothing is held. */
  expiresAt;
  #send;
  #isEnding = false;
  constructor(verdict, send) {
    const { reservationId, expiresAt } = verdict;
    this.verdict = verdict;
    this.id = reservationId;
    this.expiresAt = expiresAt;
    this.#send = send;
  }
  /** Charges what the call has cost, and returns the rest. To settle again with the same cost is safe. */
  settle(cost, { allowOverage } = {}) {
    return this.#end('settle', { cost, ...(allowOverage === undefined ? {} : { allowOverage }) });
  }
  /** Returns all: the call did not happen. */
  release() {
    return this.#end('release', {});
  }
  /**
   * Releases what nobody has tried to end. Never throws: a reservation that cannot be released now ends when it expires. So does one whose
   * settlement failed: the call has happened, and is not given away.
   */
  async close() {
    if (!this.#isEnding) await this.release().catch(() => {});
  }
  [Symbol.asyncDispose]() {
    return this.close();
  }
  async #end(method, fields) {
    if (this.id === undefined) return null;
    this.#isEnding = true;
    const body = { reservationId: this.id, ...fields };
    const ended = await this.#send({ path: `/v1/reservations.${method}`, body, isRepeatable: true });
    return ended;
  }
}
