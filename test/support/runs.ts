/** How often the long random tests run: KEYSTILE_TEST_RUNS=10 makes it ten times as often as usual. */
export function timesAsMany(runs: number): number {
  return runs * Number(process.env['KEYSTILE_TEST_RUNS'] ?? 1);
}
