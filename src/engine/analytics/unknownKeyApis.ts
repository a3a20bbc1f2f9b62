import type { OpenCount } from '../cache/openCount.ts';

/** Open counts of apis that may not exist. */
export const MAX_ASKED_COUNTS = 1_000;
/** Apis that are known to exist. */
const MAX_KNOWN_APIS = 10_000;

/** A request with an unknown key may name any api. It counts once the database has confirmed that the api exists. */
export class AskedApis {
  readonly #known = new Set<string>();
  #running: OpenCount[] = [];
  readonly #sealed: OpenCount[] = [];

  exists(apiId: string): boolean {
    return this.#known.has(apiId);
  }

  get takesOneMore(): boolean {
    return this.#running.length + this.#sealed.length < MAX_ASKED_COUNTS;
  }

  add(count: OpenCount): void {
    this.#running.push(count);
  }

  seal(): void {
    this.#sealed.push(...this.#running);
    this.#running = [];
  }

  get sealed(): readonly OpenCount[] {
    return this.#sealed;
  }

  /** The first `count` sealed counts are looked up: `existing` are the apis that exist. Answers the counts of these. */
  settle(count: number, existing: ReadonlySet<string>): OpenCount[] {
    const settled = this.#sealed.splice(0, count);
    if (this.#known.size >= MAX_KNOWN_APIS) this.#known.clear();
    for (const apiId of existing) this.#known.add(apiId);
    return settled.filter(({ apiId }) => existing.has(apiId));
  }

  /** An api was changed or deleted; null = any api. */
  forget(apiId: string | null): void {
    if (apiId === null) this.#known.clear();
    else this.#known.delete(apiId);
  }
}
