import { fileURLToPath } from 'node:url';

import { median } from '../statistics.ts';

const ROUNDS = 20;
const KEYSTILE = fileURLToPath(new URL('../../../bin/keystile.mjs', import.meta.url));
/** What Node takes to start and end, and commands that ask no service. */
const COMMANDS = {
  node: ['-e', '0'],
  version: [KEYSTILE, '-v'],
  help: [KEYSTILE, 'key', 'create', '--help'],
};

/** Milliseconds from the start of a command to its end, medians. */
export type StartupResult = Readonly<Record<keyof typeof COMMANDS, number>>;

/** Measures the commands in turn, so that the speed of the machine at a time is the same for all. */
export async function measureStartup(): Promise<StartupResult> {
  const tookMs: Record<keyof typeof COMMANDS, number[]> = { node: [], version: [], help: [] };
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, args] of Object.entries(COMMANDS)) tookMs[name as keyof typeof COMMANDS].push(await run(args));
  }
  return { node: median(tookMs.node), version: median(tookMs.version), help: median(tookMs.help) };
}

async function run(args: readonly string[]): Promise<number> {
  const before = performance.now();
  const command = Bun.spawn(['node', ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
  const code = await command.exited;
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with code ${code}.`);
  return performance.now() - before;
}
