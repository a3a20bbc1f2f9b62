import type { OpenCount } from './openCount.ts';

/** Analytics of apis that unknown keys were asked for, while it is not known whether these exist. */
export const MAX_ASKED_COUNTS = 1_000;
/** Apis that are known to exist. */
const MAX_KNOWN_APIS = 10_000;

/** What unknown keys were asked for names any api: it counts once the database has said that there is such an api. */
export class AskedApis {
  readonly #known = new Set<string>();
  #running: OpenCount[] = [];
  readonly #sealed: OpenCount[] = [];

  exists(apiId: string): boolean {
    return this.#known.has(apiId);
  }

  get hasRoom(): boolean {
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

  /** Of the apis that the first so many sealed counts are about, these exist. Answers the counts that count. */
  settle(count: number, existing: ReadonlySet<string>): OpenCount[] {
    const settled = this.#sealed.splice(0, count);
    if (this.#known.size >= MAX_KNOWN_APIS) this.#known.clear();
    for (const apiId of existing) this.#known.add(apiId);
    return settled.filter(({ apiId }) => existing.has(apiId));
  }

  /** An api was changed or deleted; null = any may have been. */
  forget(apiId: string | null): void {
    if (apiId === null) this.#known.clear();
    else this.#known.delete(apiId);
  }
}
