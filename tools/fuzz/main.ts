import { type Campaign, fuzz } from './campaign.ts';
import { show } from './input.ts';
import { readOptions, USAGE, UsageError } from './options.ts';
import { startFront, startRuntime } from './targets.ts';

/** Enough to see whether they have one cause. */
const MAX_FINDINGS = 5;

/** Answers the exit code. */
async function main(): Promise<number> {
  const { isHelp, minutes, seed } = readOptions(process.argv.slice(2));
  if (isHelp) {
    console.log(USAGE);
    return 0;
  }
  console.log(`Comparing the front with the runtime's server for ${minutes} min, seed ${seed}.`);
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
    console.log(`\nFINDING at input ${number} of seed ${seed}: ${difference}\n  ${show(input)}`);
  }
  await Promise.all([front.stop(), runtime.stop()]);
  return campaign.findings.length === 0 ? 0 : 1;
}

function report({ inputs, passedOn, allowances, findings }: Campaign, seconds: number): void {
  console.log(
    `${inputs} inputs (${(inputs / seconds).toFixed(0)}/s), ${passedOn} requests that both pass on, ${findings.length} findings`,
  );
  for (const [name, count] of allowances) console.log(`  allowed: ${name} (${count})`);
}

try {
  process.exit(await main());
} catch (error) {
  console.error(error instanceof UsageError ? error.message : error);
  process.exit(1);
}
