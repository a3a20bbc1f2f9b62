import { Refused } from './refused.ts';

/** Runs a command to its end and returns what it printed. Throws one that fails, with its last words. */
export async function run(command: readonly string[], cwd: string): Promise<string> {
  const child = Bun.spawn([...command], { cwd, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) {
    throw new Refused(`${command.join(' ')} ended with exit code ${code}.\n${`${out}${err}`.trim().slice(-2_000)}`);
  }
  return out.trim();
}

/** The same; null when it fails. */
export async function ask(command: readonly string[], cwd: string): Promise<string | null> {
  return run(command, cwd).catch(() => null);
}
