import type { LocalWindow } from './localWindow.ts';

/** Windows that have counted since they were last saved. Each is here once (`isUnsaved`). */
export class UnsavedWindows {
  #windows: LocalWindow[] = [];
  #awaited: PromiseWithResolvers<void> | null = null;

  get size(): number {
    return this.#windows.length;
  }

  add(window: LocalWindow): void {
    if (window.isUnsaved) return;
    window.isUnsaved = true;
    this.#windows.push(window);
    this.#awaited?.resolve();
    this.#awaited = null;
  }

  /** Returns when there is one. */
  untilSome(): Promise<void> {
    if (this.#windows.length > 0) return Promise.resolve();
    return (this.#awaited ??= Promise.withResolvers()).promise;
  }

  /** All of them, still marked. Whoever saves one removes its mark. */
  takeAll(): LocalWindow[] {
    const windows = this.#windows;
    this.#windows = [];
    return windows;
  }

  /** Windows that were taken, and not tried. */
  putBack(windows: readonly LocalWindow[]): void {
    this.#windows = this.#windows.concat(windows);
  }
}
