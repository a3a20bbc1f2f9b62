import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { VERSION } from '../../src/version.ts';
import { measureAgainst, measureAgainstOnPostgres } from './rows/against.ts';
import { measureAnalytics } from './rows/analytics.ts';
import { COUNTER_ROWS, type CounterResult, measureRow } from './rows/counters.ts';
import { measureCrash, measureNodeCrash } from './rows/crash.ts';
import { measureCreating } from './rows/creating.ts';
import { measureFlushMs } from './flush.ts';
import { goalsOf, type Results } from './goals.ts';
import { measureIdle } from './rows/idle.ts';
import { measureStartup } from './rows/startup.ts';
import { measureListing } from './rows/listing.ts';
import { measureMillion } from './rows/million.ts';
import { type Options, readOptions, USAGE, UsageError } from './options.ts';
import { CONNECTIONS, type Pace, SERVICE_TIMES } from './pairs.ts';
import { measureOverload } from './rows/overload.ts';
import { measurePipelined } from './rows/pipelined.ts';
import { measureDashboards } from './rows/dashboards.ts';
import { measurePlans, measurePlansOnPostgres, type PlanResult } from './rows/plans.ts';
import { measurePostgres } from './rows/postgres.ts';
import { RequestPool } from './requests.ts';
import { readSpeed, SPEED_FILE, withRun, writeSpeed } from './speed.ts';
import { resultTables, versionTable } from './table.ts';

const KEYS = 100_000;
/** Fewer keys: with one UPDATE for each request, verifying 100,000 keys once would take a minute. */
const POSTGRES_KEYS = 20_000;
/** Fewer keys: with 100,000 in use, their counts are summed for a minute at a time, and rounds with and without that do not compare. */
const DASHBOARD_KEYS = 10_000;
/** Ignored by git. The databases are created here too, because /tmp may not be on a disk. */
const RESULTS_FOLDER = fileURLToPath(new URL('results/', import.meta.url));

/** The exit code does not depend on the targets: they also depend on the machine. */
async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options.isHelp) return console.log(USAGE);
  mkdirSync(RESULTS_FOLDER, { recursive: true });
  const folder = mkdtempSync(join(RESULTS_FOLDER, 'data-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));

  const machine = machineFacts(folder);
  console.log(
    `Keystile ${machine.keystile} on Bun ${machine.bun}, ${machine.platform}, ${machine.processors} x ${machine.processor}\n` +
      `${CONNECTIONS} connections send requests for random keys out of ${KEYS.toLocaleString('en-US')}. ` +
      `Both sides are measured in turn, ${options.pace.rounds} rounds of ${options.pace.secondsPerRound} s each ` +
      `(Keystile against a yardstick: ${SERVICE_TIMES} times as long).\n` +
      `A durable commit on this disk takes ${machine.flushMs.toFixed(2)} ms. Run it on a machine that does nothing else.\n`,
  );
  if (options.against !== null) return measureVersions(options.against, options, folder);
  const results = await measureAll(options, folder);
  const goals = goalsOf(results);
  console.log(resultTables(results, goals));
  const path = join(RESULTS_FOLDER, 'latest.json');
  writeFileSync(path, `${JSON.stringify({ machine, pace: options.pace, ...results, goals }, null, 2)}\n`);
  console.log(`\nAll results as JSON: ${path}`);
  if (!options.isPublished) return;
  const described = `${machine.processors} x ${machine.processor}, ${CONNECTIONS} connections, a flush takes ${machine.flushMs.toFixed(2)} ms`;
  writeSpeed(withRun(readSpeed(), results, described));
  console.log(`Added to ${SPEED_FILE}; \`npm run docs\` draws it.`);
}

function machineFacts(folder: string) {
  return {
    measuredAt: new Date().toISOString(),
    keystile: VERSION,
    bun: Bun.version,
    platform: `${process.platform} ${process.arch}`,
    processors: cpus().length,
    processor: cpus()[0]?.model ?? 'unknown',
    flushMs: measureFlushMs(folder),
  };
}

async function measureAll({ isWanted, pace }: Options, folder: string): Promise<Results> {
  const counters: CounterResult[] = [];
  const rows = COUNTER_ROWS.filter(({ name }) => isWanted(name));
  const pool = new RequestPool(rows.length > 0 || ['analytics', 'crash', 'overload'].some(isWanted) ? KEYS : 0);
  for (const row of rows) {
    announce(row.title);
    counters.push(await measureRow(row, join(folder, row.name), pool, pace));
  }
  if (isWanted('analytics')) announce('analytics');
  const analytics = isWanted('analytics') ? await measureAnalytics(join(folder, 'analytics'), pool) : null;
  if (isWanted('crash')) announce('killed process');
  const crash = isWanted('crash')
    ? { one: await measureCrash(join(folder, 'crash'), pool), node: await measureNodeCrash(pool) }
    : null;
  if (isWanted('overload')) announce('overload');
  const overload = isWanted('overload') ? await measureOverload(join(folder, 'overload'), pool, pace) : null;
  if (isWanted('pipelined')) announce('pipelined requests');
  const pipelined = isWanted('pipelined') ? await measurePipelined(join(folder, 'pipelined')) : null;
  if (isWanted('million')) announce('1,000,000 keys');
  const many = { many: join(folder, 'many'), few: join(folder, 'few') };
  const million = isWanted('million') ? await measureMillion(many, pace) : null;
  if (isWanted('listing')) announce('listing of 1,000,000 keys');
  const listing = isWanted('listing') ? await measureListing(join(folder, 'listing')) : null;
  if (isWanted('idle')) announce('idle');
  const idle = isWanted('idle') ? await measureIdle(join(folder, 'idle')) : null;
  if (isWanted('startup')) announce('start of a command');
  const startup = isWanted('startup') ? await measureStartup() : null;
  if (isWanted('creating')) announce('creating 8,000 keys');
  const creating = isWanted('creating') ? await measureCreating(join(folder, 'creating')) : null;
  if (isWanted('postgres')) announce('PostgreSQL (one, two and three nodes, some minutes)');
  const postgres = isWanted('postgres') ? await measurePostgres(new RequestPool(POSTGRES_KEYS), pace) : null;
  if (isWanted('plans')) announce('keys on a plan (embedded, one and two nodes, some minutes)');
  const plans = isWanted('plans') ? await measureAllPlans(join(folder, 'plans'), pace) : [];
  if (isWanted('dashboards')) announce('ten open dashboards');
  const dashboards = isWanted('dashboards')
    ? await measureDashboards(join(folder, 'dashboards'), new RequestPool(DASHBOARD_KEYS), pace)
    : null;
  process.stderr.write('\n');
  return {
    counters,
    analytics,
    crash,
    overload,
    pipelined,
    million,
    listing,
    idle,
    startup,
    creating,
    postgres,
    plans,
    dashboards,
  };
}

async function measureVersions(against: string, { isWanted, pace }: Options, folder: string): Promise<void> {
  announce(`this version against that in ${against}`);
  const rows = [...(await measureAgainst(against, isWanted, { folder, keys: KEYS, pace }))];
  if (isWanted('postgres')) {
    rows.push(...(await measureAgainstOnPostgres(against, new RequestPool(POSTGRES_KEYS), pace)));
  }
  console.log(versionTable(rows));
}

async function measureAllPlans(folder: string, pace: Pace): Promise<readonly PlanResult[]> {
  const embedded = await measurePlans(folder, new RequestPool(KEYS), pace);
  return [...embedded, ...(await measurePlansOnPostgres(new RequestPool(POSTGRES_KEYS), pace))];
}

function announce(row: string): void {
  process.stderr.write(`Measuring: ${row}\n`);
}

try {
  await main();
  process.exit(0);
} catch (error) {
  console.error(error instanceof UsageError ? `${error.message}\n${USAGE}` : error);
  process.exit(1);
}
