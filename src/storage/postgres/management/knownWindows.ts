import { windowEnd } from '../../../core/window.ts';
import type { WindowName } from '../../port/storage.ts';

const MAX_KNOWN = 10_000;

interface Known {
  readonly account: number;
  /** The window runs until then. */
  readonly endsAtMs: number;
}

/** Accounts of ad-hoc windows. While a window runs nobody removes it, so its account needs no second lookup. */
export class KnownWindows {
  readonly #byName = new Map<string, Known>();
  readonly #names = new Map<number, string>();

  find(window: WindowName, nowMs: number): number | undefined {
    const known = this.#byName.get(nameOf(window));
    return known !== undefined && nowMs < known.endsAtMs ? known.account : undefined;
  }

  add(window: WindowName, account: number, nowMs: number): void {
    if (this.#byName.size >= MAX_KNOWN) {
      this.#byName.clear();
      this.#names.clear();
    }
    this.#byName.set(nameOf(window), { account, endsAtMs: windowEnd(nowMs, window.durationMs) });
    this.#names.set(account, nameOf(window));
  }

  drop(account: number): void {
    const name = this.#names.get(account);
    if (name === undefined) return;
    this.#names.delete(account);
    this.#byName.delete(name);
  }
}

function nameOf({ owner, name, durationMs }: WindowName): string {
  return JSON.stringify([owner, name, durationMs]);
}
