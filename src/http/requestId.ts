import { base58Digit, base58Number } from '../core/base58.ts';
import { ID_RANDOM_BYTES, makeId } from '../core/ids.ts';
import type { System } from '../engine/system.ts';

/** Characters of the counter: those that change seldom, and those that change with every id. */
const HIGH_WIDTH = 2;
const HIGH_SPAN = 58 ** HIGH_WIDTH;
const LOW_SPAN = 58 ** 2;

/**
 * Request ids: one random id, made anew now and then, and a counter behind it. Unique like the other ids, without asking
 * for random bytes on every verification.
 */
export class RequestIds {
  readonly #system: System;
  #base = '';
  #high = HIGH_SPAN;
  /** All of an id but what changes with every one. */
  #beginning = '';
  #low = LOW_SPAN;

  constructor(system: System) {
    this.#system = system;
  }

  next(): string {
    if (this.#low === LOW_SPAN) this.#begin();
    const low = this.#low++;
    return `${this.#beginning}${base58Digit(Math.floor(low / 58))}${base58Digit(low % 58)}`;
  }

  #begin(): void {
    if (this.#high === HIGH_SPAN) {
      this.#base = makeId('req', this.#system.nowMs(), this.#system.randomBytes(ID_RANDOM_BYTES));
      this.#high = 0;
    }
    this.#beginning = this.#base + base58Number(this.#high++, HIGH_WIDTH);
    this.#low = 0;
  }
}
