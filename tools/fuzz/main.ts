import { type Campaign, fuzz } from './campaign.ts';
import { show } from './input.ts';
import { readOptions, USAGE, UsageError } from './options.ts';
import { startFront, startRuntime } from './targets.ts';

/** Enough findings to see whether they have the same cause. */
const MAX_FINDINGS = 5;

/** Returns the exit code. */
async function main(): Promise<number> {
  const { isHelp, minutes, seed } = readOptions(process.argv.slice(2));
  if (isHelp) {
    console.log(USAGE);
    return 0;
  }
  console.log(
    `Sending random HTTP input to Keystile's server (front) and to Bun's server (runtime) for ${minutes} min, and comparing the requests that they read. Seed: ${seed}.`,
  );
  const startedAtMs = performance.now();
  const seconds = (): number => (performance.now() - startedAtMs) / 1000;
  const [front, runtime] = [startFront(), startRuntime()];
  const campaign = await fuzz({
    seed,
    front,
    runtime,
    maxFindings: MAX_FINDINGS,
    isDone: () => seconds() >= minutes * 60,
  });
  report(campaign, seconds());
  for (const { input, difference, number } of campaign.findings) {
    console.log(`\nFINDING at input ${number} of seed ${seed}: ${difference}\n  Input: ${show(input)}`);
  }
  await Promise.all([front.stop(), runtime.stop()]);
  return campaign.findings.length === 0 ? 0 : 1;
}

function report({ inputs, passedOn, allowances, findings }: Campaign, seconds: number): void {
  console.log(
    `${inputs} inputs (${(inputs / seconds).toFixed(0)}/s). Both servers read the same ${passedOn} requests. Findings: ${findings.length}.`,
  );
  if (allowances.size > 0) console.log('Allowed differences (see tools/fuzz/allowances.ts):');
  for (const [name, count] of allowances) console.log(`  ${String(count).padStart(6)}  ${name}`);
}

try {
  process.exit(await main());
} catch (error) {
  console.error(error instanceof UsageError ? error.message : error);
  process.exit(1);
}
