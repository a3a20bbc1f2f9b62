/** A registry that answers does so in a few seconds. */
const WITHIN_MS = 60_000;

/** What `npm audit --json` prints in a folder. Where it cannot run or does not end, an answer in the same form says why. */
export async function askNpm(
  folder: string,
  options: readonly string[] = [],
  { npm = 'npm', withinMs = WITHIN_MS } = {},
): Promise<string> {
  if (Bun.which(npm) === null) return JSON.stringify({ message: 'npm is not installed, or not in PATH' });
  const child = Bun.spawn([npm, 'audit', '--json', '--package-lock-only', ...options], {
    cwd: folder,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
    timeout: withinMs,
    killSignal: 'SIGKILL',
  });
  const text = await new Response(child.stdout).text();
  await child.exited;
  return child.signalCode === 'SIGKILL'
    ? JSON.stringify({ message: `npm has no answer after ${withinMs / 1000} seconds` })
    : text;
}
