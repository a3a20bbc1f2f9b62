const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

let hasWarned = false;

/**
 * Warns, once in a process, when a root key would cross a network that everyone on the way can read. `isTrusted`: the user says that only
 * machines that they trust are there.
 */
export function warnOfPlainHttp(urls: readonly string[], rootKey: string | undefined, isTrusted: boolean): void {
  if (hasWarned || rootKey === undefined || isTrusted) return;
  const open = urls
    .map((url) => new URL(url))
    .find(({ protocol, hostname }) => protocol === 'http:' && !LOOPBACK.test(hostname));
  if (open === undefined) return;
  hasWarned = true;
  // Whoever runs the program must see it, and a library has no log of its own.
  // oxlint-disable-next-line no-console
  console.warn(
    `Keystile: the root key is sent to ${open.origin} over plain HTTP, and everyone on the way can read it. Use an https:// address. In a network that you trust, set KEYSTILE_NETWORK=private.`,
  );
}
