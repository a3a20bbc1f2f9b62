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
import { holdPromises, type Results } from './promises.ts';
import { measureRevocation } from './revocation.ts';
import { measureStrict, STRICT_LIMIT } from './strict.ts';
import { latencyTable, overshootTable, pathTable, promiseTable, strictTable } from './table.ts';

/** Ignored by git. */
const RESULTS_FOLDER = fileURLToPath(new URL('results/', import.meta.url));
const INTERRUPTED = 130;
const STOP_WITHIN_MS = 5_000;
const SHOWN_COMPLAINTS = 3;

/** Everything that was started, in the order in which it can be stopped. */
const parts = new AsyncDisposableStack();
let starting: Promise<unknown> = Promise.resolve();
let isInterrupted = false;

/** Answers the exit code. */
async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options.isHelp) {
    console.log(USAGE);
    return 0;
  }
  const startedAtMs = performance.now();
  const machine = machineFacts();
  console.log(`Keystile ${machine.keystile} on Bun ${machine.bun}, ${machine.processors} x ${machine.processor}`);
  console.log(
    'All numbers are of this machine in this run, with nodes, database and clients on the same processors.\n',
  );
  const results = await measureAll(options);
  const held = holdPromises(results);
  console.log(`Promises\n${promiseTable(held)}\n`);
  mkdirSync(RESULTS_FOLDER, { recursive: true });
  const plot = join(RESULTS_FOLDER, 'regions.svg');
  const json = join(RESULTS_FOLDER, 'regions.json');
  const facts = `Keystile ${machine.keystile}, all on one machine with ${machine.processors} processors, ${machine.measuredAt.slice(0, 10)}`;
  writeFileSync(plot, drawPlot(results, facts));
  writeFileSync(json, `${JSON.stringify({ machine, ...results, held }, null, 2)}\n`);
  const seconds = (performance.now() - startedAtMs) / 1000;
  console.log(`Took ${seconds.toFixed(0)} s. The plot: ${plot}\nAll of it as JSON: ${json}`);
  const broken = held.filter(({ isKept }) => !isKept);
  for (const { promise, measured } of broken) console.error(`BROKEN: ${promise}; measured: ${measured}`);
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
    `Starting PostgreSQL and three nodes, with ${delaysMs.join(', ')} ms added to their round trips to it.\n`,
  );
  const started = Lab.start(delaysMs, parts);
  starting = started;
  const lab = await started;
  const names = lab.regions.map(({ name }) => name);

  console.log('Latency: what clients in each region wait for a bare request, a local and a strict verification.');
  const latency = await measureLatency(lab, scale);
  console.log(`${latencyTable(latency)}\n`);

  console.log(`Strict: a limit of ${STRICT_LIMIT} in 1 s, hammered in all regions; on the right what each was given.`);
  const strict = await measureStrict(lab, scale);
  console.log(`${strictTable(strict, names)}\n`);

  console.log(`Local: a limit of ${LOCAL_LIMIT} in a long window, at loads that reach it sooner or later.`);
  const overshoot = await measureOvershoot(lab, scale);
  console.log(`${overshootTable(overshoot, names.length)}\n`);

  console.log('Convergence: after one region has admitted, how long until the others count it.');
  const convergence = await measureConvergence(lab, scale);
  console.log(`${pathTable(convergence, names, 'admitted in', 'seen in')}\n`);

  console.log(
    'Revocation: after deleteKey has answered in one region, how long others still admit what they are asked.',
  );
  const revocation = await measureRevocation(lab, scale);
  console.log(`${pathTable(revocation.paths, names, 'deleted in', 'refused in')}\n`);

  for (const { name, failures, lastFailure, complaints } of lab.regions) {
    if (failures > 0) console.log(`${name} answered ${failures} verifications with an error, at last: ${lastFailure}`);
    if (complaints.length > 0) {
      console.log(
        `${name} logged ${complaints.length} lines, at last:\n${complaints.slice(-SHOWN_COMPLAINTS).join('\n')}\n`,
      );
    }
  }
  return { latency, strict, overshoot, convergence, revocation };
}

/** What is still starting either fails now, because PostgreSQL has gone, or is stopped as soon as it has started. */
async function stop(code: number): Promise<never> {
  await parts.disposeAsync();
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
  // What is stopped under way fails; that is no news.
  if (!isInterrupted) {
    console.error(error instanceof UsageError ? error.message : error);
    await stop(1);
  }
}
