/**
 * Loaded before all tests. A run whose launcher was killed ends too. Bun's own `--no-orphans` would kill the watchdogs
 * of the PostgreSQL servers (tools/cluster/watchdog.ts) as well, which clean up after a process that has ended.
 */
const launcher = Number(process.env['KEYSTILE_TEST_LAUNCHER']);
const runner = process.ppid;

function hasEnded(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}

if (launcher > 0) {
  setInterval(() => {
    if (!hasEnded(launcher)) return;
    // The process that hands out the files, where this one is a worker.
    if (runner !== launcher) process.kill(runner, 'SIGTERM');
    process.exit(1);
  }, 1_000).unref();
}
