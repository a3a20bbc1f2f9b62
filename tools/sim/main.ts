import { parseArgs } from 'node:util';

import { FAULTS, Violation, World, type WorldOptions } from './world.ts';

const USAGE = `npm run sim -- [--minutes N] [--worlds N] [--seed S] [--calls N]

Plays worlds of nodes, clients and faults on a virtual clock, and compares every answer with a model.

  --minutes N   goes on for so long
  --worlds N    plays so many worlds (default 10)
  --seed S      the seed of the first world (default 1); the next worlds have the next seeds
  --calls N     calls of clients in each world (default 2000)
`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    worlds: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    calls: { type: 'string', default: '2000' },
    help: { type: 'boolean', default: false },
  },
});

function wholeNumber(name: 'worlds' | 'seed' | 'calls'): number {
  const number = Number(values[name]);
  if (Number.isSafeInteger(number) && number > 0) return number;
  console.error(`--${name} must be a whole number above 0, got ${JSON.stringify(values[name])}`);
  process.exit(2);
}

function minutes(text: string): number {
  const number = Number(text);
  if (number > 0 && number < Infinity) return number;
  console.error(`--minutes must be a number above 0, got ${JSON.stringify(text)}`);
  process.exit(2);
}

/** The violation of a world; null: it has none. */
async function violationOf(options: WorldOptions): Promise<Violation | null> {
  try {
    await World.play(options);
    return null;
  } catch (error) {
    if (error instanceof Violation) return error;
    throw error;
  }
}

/** The same seed with fewer nodes, customers and faults, as long as some promise is still broken. */
async function shortened(options: WorldOptions): Promise<WorldOptions> {
  const smaller: ((from: WorldOptions) => WorldOptions)[] = [
    ...FAULTS.map((fault) => (from: WorldOptions) => ({
      ...from,
      faults: from.faults.filter((each) => each !== fault),
    })),
    ...[1, 2].map((nodes) => (from: WorldOptions) => ({ ...from, nodes: Math.min(nodes, from.nodes) })),
    ...[2, 5, 10].map((cases) => (from: WorldOptions) => ({ ...from, cases: Math.min(cases, from.cases) })),
    ...[50, 200, 800].map((calls) => (from: WorldOptions) => ({ ...from, calls: Math.min(calls, from.calls) })),
  ];
  let shortest = options;
  for (const make of smaller) {
    const next = make(shortest);
    if (JSON.stringify(next) !== JSON.stringify(shortest) && (await violationOf(next)) !== null) shortest = next;
  }
  return shortest;
}

async function report(options: WorldOptions): Promise<void> {
  const short = await shortened(options);
  const violation = await violationOf(short);
  console.log(violation?.story.join('\n'));
  console.log(`\nVIOLATION in the world ${JSON.stringify(short)}:\n${violation?.message}`);
  console.log(`npm run sim -- --worlds 1 --seed ${options.seed} --calls ${options.calls}`);
}

if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const [worlds, firstSeed, calls] = [wholeNumber('worlds'), wholeNumber('seed'), wholeNumber('calls')];
const untilMs = values.minutes === undefined ? null : performance.now() + minutes(values.minutes) * 60_000;
const total = { worlds: 0, calls: 0, checks: 0 };
const struck: Record<string, number> = {};
const startedAtMs = performance.now();
for (let seed = firstSeed; untilMs === null ? total.worlds < worlds : performance.now() < untilMs; seed++) {
  const options: WorldOptions = { seed, calls, nodes: 3, cases: 30, faults: FAULTS };
  try {
    const world = await World.play(options);
    total.worlds++;
    total.calls += world.calls;
    total.checks += world.checks;
    for (const [fault, count] of Object.entries(world.struck)) struck[fault] = (struck[fault] ?? 0) + count;
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    await report(options);
    process.exit(1);
  }
}
const perMinute = Math.round((total.checks / (performance.now() - startedAtMs)) * 60_000);
const faults = Object.entries(struck).map(([fault, count]) => `${count} ${fault}`);
console.log(
  `${total.worlds} worlds from seed ${firstSeed}: ${total.calls} calls, ${total.checks} checks, ${perMinute} a minute`,
);
console.log(`faults: ${faults.join(', ')}`);
console.log('No promise was broken.');
