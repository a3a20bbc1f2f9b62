import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { runToEnd, type TempFolder } from '../process.ts';

/** Runs lines as a person would paste them into a terminal, with the machine's curl, or our own where there is none. */
export async function paste(lines: string, folder: TempFolder): Promise<string> {
  let path = '';
  if (Bun.which('curl') === null) {
    const script = `#!/bin/sh\nexec '${process.execPath}' '${join(import.meta.dir, 'curl.ts')}' "$@"\n`;
    writeFileSync(folder.join('curl'), script, { mode: 0o755 });
    path = `PATH='${folder.path}':"$PATH"\n`;
  }
  return (await runToEnd({ command: ['sh', '-c', path + lines] })).stdout;
}
