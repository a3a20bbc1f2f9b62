const TIMEOUT_MS = 30_000;
const PAUSE_MS = 5;

/** Repeats the check until it is true. After a timeout it fails with a message that says what was expected. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`Waited ${TIMEOUT_MS / 1000} s, but it did not happen: ${what}`);
    await Bun.sleep(PAUSE_MS);
  }
}
