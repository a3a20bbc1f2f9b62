import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { VERSION } from '../../src/version.ts';
import { measureConvergence } from './convergence.ts';
import { Lab } from './lab.ts';
import { measureLatency } from './latency.ts';
import { type Options, readOptions, USAGE, UsageError } from './options.ts';
import { LOCAL_LIMIT, measureOvershoot } from './overshoot.ts';
import { drawPlot } from './plot.ts';
import { checkPromises, type Results } from './promises.ts';
import { measureRevocation } from './revocation.ts';
import { measureStrict, STRICT_LIMIT } from './strict.ts';
import { latencyTable, overshootTable, pathTable, promiseTable, strictTable } from './table.ts';

/** Ignored by git. */
const RESULTS_FOLDER = fileURLToPath(new URL('results/', import.meta.url));
const INTERRUPTED = 130;
const STOP_WITHIN_MS = 5_000;
const SHOWN_LOG_LINES = 3;

/** All started processes. They are stopped in reverse order. */
const started = new AsyncDisposableStack();
let starting: Promise<unknown> = Promise.resolve();
let isInterrupted = false;

/** Returns the exit code. */
async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options.isHelp) {
    console.log(USAGE);
    return 0;
  }
  const startedAtMs = performance.now();
  const machine = machineFacts();
  console.log(`Keystile ${machine.keystile} on Bun ${machine.bun}, ${machine.processors} x ${machine.processor}`);
  console.log('The numbers are from this machine and this run. Nodes, database and clients share its processors.\n');
  const results = await measureAll(options);
  const checks = checkPromises(results);
  console.log(`Promises: what Keystile guarantees, and what was measured.\n${promiseTable(checks)}\n`);
  mkdirSync(RESULTS_FOLDER, { recursive: true });
  const plot = join(RESULTS_FOLDER, 'regions.svg');
  const json = join(RESULTS_FOLDER, 'regions.json');
  const facts = `Keystile ${machine.keystile}, all on one machine with ${machine.processors} processors, ${machine.measuredAt.slice(0, 10)}`;
  writeFileSync(plot, drawPlot(results, facts));
  writeFileSync(json, `${JSON.stringify({ machine, ...results, held: checks }, null, 2)}\n`);
  const seconds = (performance.now() - startedAtMs) / 1000;
  console.log(`Finished in ${seconds.toFixed(0)} s.\nPlot: ${plot}\nAll results as JSON: ${json}`);
  const broken = checks.filter(({ isKept }) => !isKept);
  for (const { promise, measured } of broken) console.error(`BROKEN PROMISE: ${promise}. Measured: ${measured}.`);
  return broken.length === 0 ? 0 : 1;
}

function machineFacts() {
  return {
    measuredAt: new Date().toISOString(),
    keystile: VERSION,
    bun: Bun.version,
    platform: `${process.platform} ${process.arch}`,
    processors: cpus().length,
    processor: cpus()[0]?.model ?? 'unknown',
  };
}

async function measureAll({ scale, delaysMs }: Options): Promise<Results> {
  console.log(
    `Starting PostgreSQL and three nodes. Each node is a region; its round trip to the database takes ${delaysMs.join(', ')} ms longer.\n`,
  );
  const startingLab = Lab.start(delaysMs, started);
  starting = startingLab;
  const lab = await startingLab;
  const names = lab.regions.map(({ name }) => name);

  console.log(
    'Latency: how long a client in each region waits for a liveness request, a local and a strict verification.',
  );
  const latency = await measureLatency(lab, scale);
  console.log(`${latencyTable(latency)}\n`);

  console.log(
    `Strict limit: ${STRICT_LIMIT} requests in 1 s, with far more requests from all regions. On the right: admitted in each region.`,
  );
  const strict = await measureStrict(lab, scale);
  console.log(`${strictTable(strict, names)}\n`);

  console.log(
    `Local limit: ${LOCAL_LIMIT} requests in a long window. The faster the load reaches the limit, the more it is exceeded.`,
  );
  const overshoot = await measureOvershoot(lab, scale);
  console.log(`${overshootTable(overshoot, names.length)}\n`);

  console.log('Convergence: how long the other regions take to count a request that one region has admitted.');
  const convergence = await measureConvergence(lab, scale);
  console.log(`${pathTable(convergence, names, 'admitted in', 'counted in')}\n`);

  console.log(
    'Revocation: after deleteKey has answered in one region, how long the other regions still admit the key.',
  );
  const revocation = await measureRevocation(lab, scale);
  console.log(`${pathTable(revocation.paths, names, 'deleted in', 'refused in')}\n`);

  for (const { name, failures, lastFailure, logLines } of lab.regions) {
    if (failures > 0)
      console.log(`${name} answered ${failures} verifications with an error. The last one: ${lastFailure}`);
    if (logLines.length > 0) {
      console.log(
        `${name} logged ${logLines.length} warnings or errors. The last ones:\n${logLines.slice(-SHOWN_LOG_LINES).join('\n')}\n`,
      );
    }
  }
  return { latency, strict, overshoot, convergence, revocation };
}

/** A process that is still starting fails, because PostgreSQL is gone, or it is stopped as soon as it has started. */
async function stop(code: number): Promise<never> {
  await started.disposeAsync();
  await Promise.race([starting.catch(() => undefined), Bun.sleep(STOP_WITHIN_MS)]);
  process.exit(code);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (isInterrupted) return;
    isInterrupted = true;
    console.error('Stopping.');
    void stop(INTERRUPTED);
  });
}

try {
  const code = await main();
  if (!isInterrupted) await stop(code);
} catch (error) {
  // After an interruption, running measurements fail. That is expected.
  if (!isInterrupted) {
    console.error(error instanceof UsageError ? error.message : error);
    await stop(1);
  }
}
