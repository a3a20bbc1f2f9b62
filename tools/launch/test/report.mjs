/** @param {import('./tests.mjs').Failure} failure */
export function printFailure({ title, output, rerun }) {
  console.log(`\nFAILED ${title}\n`);
  if (output.trim() !== '') console.log(`${output.trimEnd().replace(/^/gm, '  ')}\n`);
  console.log(`  run it alone: ${rerun}\n`);
}

/** @param {{ name: string, result: import('./tests.mjs').GroupResult, seconds: number, seed: number }} group */
export function printGroup({ name, result, seconds, seed }) {
  const failed = result.failures.length;
  const count = `${String(result.passed).padStart(5)} passed${failed > 0 ? `, ${failed} failed` : ''}`;
  console.log(`${name.padEnd(12)} ${count.padEnd(16)} ${seconds.toFixed(1).padStart(7)} s   seed ${seed}`);
}
