import { base58Number } from '../../core/base58.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import type { System } from '../../engine/system.ts';

const COUNTER_WIDTH = 4;
const COUNTER_SPAN = 58 ** COUNTER_WIDTH;

/**
 * Creates request ids: a random id, renewed now and then, followed by a counter. They are unique like other ids, without new random
 * bytes for every verification.
 */
export class RequestIds {
  readonly #system: System;
  #base = '';
  #counter = COUNTER_SPAN;

  constructor(system: System) {
    this.#system = system;
  }

  next(): string {
    if (this.#counter >= COUNTER_SPAN) {
      this.#base = makeId('req', this.#system.nowMs(), this.#system.randomBytes(ID_RANDOM_BYTES));
      this.#counter = 0;
    }
    return this.#base + base58Number(this.#counter++, COUNTER_WIDTH);
  }
}
