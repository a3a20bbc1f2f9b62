import { base58Number } from '../../core/base58.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import type { System } from '../../engine/system.ts';

const COUNTER_WIDTH = 4;

/**
 * Creates request ids: a random id, renewed now and then, followed by a counter. They are unique like other ids, without new random
 * bytes for every verification.
 */
export class RequestIds {
  readonly #system: System;
  readonly #width: number;
  readonly #span: number;
  #base = '';
  #counter: number;

  constructor(system: System, width = COUNTER_WIDTH) {
    this.#system = system;
    this.#width = width;
    this.#span = 58 ** width;
    this.#counter = this.#span;
  }

  next(): string {
    if (this.#counter >= this.#span) {
      this.#base = makeId('req', this.#system.nowMs(), this.#system.randomBytes(ID_RANDOM_BYTES));
      this.#counter = 0;
    }
    return this.#base + base58Number(this.#counter++, this.#width);
  }
}
