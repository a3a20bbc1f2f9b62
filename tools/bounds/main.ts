import { cpus } from 'node:os';

import { MAX_IMPORT_BODY_BYTES } from '../../src/core/bounds.ts';
import { VERSION } from '../../src/version.ts';
import { ordinaryJson } from './bodies.ts';
import { isTooSlow, MAX_GROWTH, usualOf } from './gates.ts';
import { type Input, routeOf } from './input.ts';
import { managementInputs } from './managementInputs.ts';
import { openInputs } from './openInputs.ts';
import { makeSetup, type Setup } from './setup.ts';

const MIN_CALLS = 3;
const MAX_CALLS = 200;
const ENOUGH_MS = 250;
/** Smaller bodies are not compared by their size: the fixed cost of a request would dominate. */
const MIN_COMPARED_BYTES = 64 * 1024;

interface Row {
  readonly input: Input;
  readonly bytes: number;
  readonly ms: number;
  /** Compared to JSON.parse for as many bytes of ordinary JSON. Null: too few bytes to compare. */
  readonly ratio: number | null;
  /** Compared to JSON.parse for the largest body, measured next to the row because the speed of a machine changes. */
  readonly ratioToLargest: number;
}

/**
 * How long one call keeps the answering thread busy. This is processor time, so other programs do not count. The system
 * reports it in steps of some milliseconds, so many calls are measured.
 */
async function threadMsOf(call: () => Promise<void>): Promise<number> {
  await call();
  const startedAtMs = threadMs();
  let calls = 0;
  while (calls < MIN_CALLS || (calls < MAX_CALLS && threadMs() - startedAtMs < ENOUGH_MS)) {
    await call();
    calls++;
  }
  return (threadMs() - startedAtMs) / calls;
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

async function measure({ service }: Setup, input: Input): Promise<Row> {
  const { path, body, isOpen, status } = input;
  const bytes = Buffer.byteLength(body ?? path);
  const options = {
    ...(isOpen ? { rootKey: null } : {}),
    ...(body === null ? { method: 'GET' } : { raw: body }),
  };
  const ms = await threadMsOf(async () => {
    const answer = await service.call(path, undefined, options);
    if (answer.status !== status)
      throw new Error(
        `${routeOf(input)}, ${input.what}: expected status ${status}, got ${answer.status} ${answer.text.slice(0, 300)}`,
      );
  });
  const ratio = bytes < MIN_COMPARED_BYTES ? null : ms / (await parsingMs(bytes));
  return { input, bytes, ms, ratio, ratioToLargest: ms / (await parsingMs(MAX_IMPORT_BODY_BYTES)) };
}

/** A row above its gate is measured a second time, and the faster result counts: a disturbance is not a regression. */
async function measureOrRepeat(setup: Setup, input: Input): Promise<Row> {
  const first = await measure(setup, input);
  if (!isTooSlow(input, first.ratioToLargest)) return first;
  const second = await measure(setup, input);
  return second.ratioToLargest < first.ratioToLargest ? second : first;
}

function parsingMs(bytes: number): Promise<number> {
  const ordinary = ordinaryJson(bytes);
  return threadMsOf(async () => void JSON.parse(ordinary));
}

const INTRODUCTION = `Sends the slowest input that each bound allows and measures how long one request keeps the answering thread busy.
- Thread, ms: processor time of the answering thread for one request.
- Times JSON.parse: compared to JSON.parse for as many bytes of ordinary JSON. "-" below 64 KiB.
- Times 4 MiB: compared to JSON.parse for 4 MiB of ordinary JSON.
- Usual: the usual value of "Times 4 MiB". A row fails above ${MAX_GROWTH} times its usual value.`;

const HEAD = `| Route | Worst input | Bound | Bytes | Thread, ms | Times JSON.parse | Times 4 MiB | Usual |
|---|---|---|---|---|---|---|---|`;

function lineOf({ input, bytes, ms, ratio, ratioToLargest }: Row): string {
  const route = routeOf(input);
  const numbers = [ms.toFixed(1), ratio?.toFixed(1) ?? '-', short(ratioToLargest), String(usualOf(input))];
  return `| ${[route === 'any' ? route : `\`${route}\``, input.what, input.bound, bytes.toLocaleString('en-US'), ...numbers].join(' | ')} |`;
}

/** Small values need more digits to be compared to the usual ones. */
function short(value: number): string {
  return value < 1 ? value.toFixed(3) : value.toFixed(1);
}

async function measureAll(title: string, setup: Setup, inputs: readonly Input[]): Promise<Row[]> {
  const rows: Row[] = [];
  console.log(`\n${title}\n\n${HEAD}`);
  for (const input of inputs) {
    const row = await measureOrRepeat(setup, input);
    console.log(lineOf(row));
    rows.push(row);
  }
  return rows;
}

console.log(`Keystile ${VERSION} on Bun ${Bun.version}, ${cpus().length} x ${cpus()[0]?.model}\n\n${INTRODUCTION}`);
const setup = await makeSetup();
try {
  const rows = [
    ...(await measureAll('Without a root key', setup, openInputs(setup.targets))),
    ...(await measureAll('With a root key', setup, managementInputs(setup.targets))),
  ];
  const failed = rows.filter(({ input, ratioToLargest }) => isTooSlow(input, ratioToLargest));
  for (const row of failed) console.error(`TOO SLOW (above ${MAX_GROWTH} times the usual value): ${lineOf(row)}`);
  console.log(
    `\n${rows.length - failed.length} of ${rows.length} rows are within ${MAX_GROWTH} times their usual value.`,
  );
  process.exitCode = failed.length === 0 ? 0 : 1;
} finally {
  await setup.service.close();
}
