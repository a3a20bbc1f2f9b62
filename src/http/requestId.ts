import { base58Number } from '../core/base58.ts';
import { ID_RANDOM_BYTES, makeId } from '../core/ids.ts';
import type { System } from '../engine/system.ts';

/** Two characters each, made once: putting an id together digit by digit took a twentieth of a verification. */
const PAIRS = Array.from({ length: 58 * 58 }, (_, number) => base58Number(number, 2));
const COUNTER_SPAN = PAIRS.length ** 2;

/**
 * Request ids: one random id, made anew now and then, and a counter behind it. Unique like the other ids, without asking
 * for random bytes on every verification.
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
    const counter = this.#counter++;
    return this.#base + (PAIRS[Math.floor(counter / PAIRS.length)] ?? '') + (PAIRS[counter % PAIRS.length] ?? '');
  }
}
