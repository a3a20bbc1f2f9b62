const PATIENCE_MS = 30_000;
const PAUSE_MS = 5;

/** Asks again and again; whoever waits in vain learns for what. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`waited ${PATIENCE_MS / 1000} s in vain until ${what}`);
    await Bun.sleep(PAUSE_MS);
  }
}
