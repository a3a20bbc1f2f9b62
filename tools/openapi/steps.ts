/** A check of the OpenAPI document with tools from outside. */
export interface Check {
  readonly name: string;
  readonly needs: readonly Toolchain[];
  /** Works in an empty folder of its own, and returns what it found in words. */
  run(document: string, folder: string): Promise<string>;
}

export interface Toolchain {
  readonly command: string;
  readonly install: string;
}

/** A tool found something, or ended with an error. */
export class Failure extends Error {
  override readonly name = 'Failure';
}

/** Runs a command in a folder to its end, and returns what it wrote to its output. */
export async function step(
  folder: string,
  command: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  const child = Bun.spawn([...command], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [output, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Failure(`${command.join(' ')} ended with ${code}\n${output}${errors}`);
  return output;
}
