import { base58 } from '../../../core/base58.ts';
import { SIGN_IN_LINK_MS } from '../../../core/sessionTimes.ts';
import type { System } from '../../system.ts';

const TOKEN_BYTES = 24;
/** Links that are open at a time. One more closes the oldest. */
const MAX_OPEN = 20;

/**
 * Links that sign a browser in once. They are only in the memory of this process: whoever reads its terminal may use one. Only the digest
 * of a token is kept.
 */
export class SignInLinks {
  readonly #system: System;
  readonly #open = new Map<string, { readonly rootKeyId: string; readonly untilMs: number }>();

  constructor(system: System) {
    this.#system = system;
  }

  create(rootKeyId: string): string {
    const [oldest] = this.#open.keys();
    if (oldest !== undefined && this.#open.size >= MAX_OPEN) this.#open.delete(oldest);
    const token = base58(this.#system.randomBytes(TOKEN_BYTES));
    const untilMs = this.#system.nowMs() + SIGN_IN_LINK_MS;
    this.#open.set(this.#system.digestSecret(token), { rootKeyId, untilMs });
    return token;
  }

  /** The root key of a link that was not used before; null = there is none. */
  take(token: string): string | null {
    const digest = this.#system.digestSecret(token);
    const link = this.#open.get(digest);
    this.#open.delete(digest);
    return link !== undefined && this.#system.nowMs() < link.untilMs ? link.rootKeyId : null;
  }
}
