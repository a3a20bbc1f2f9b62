import { cpus } from 'node:os';

import { MAX_IMPORT_BODY_BYTES } from '../../src/core/bounds.ts';
import { VERSION } from '../../src/version.ts';
import { ordinaryJson } from './bodies.ts';
import { isTooSlow, MAX_GROWTH, MAX_TURN_MS, usualOf } from './gates.ts';
import { type Input, routeOf } from './input.ts';
import { managementInputs } from './managementInputs.ts';
import { openInputs } from './openInputs.ts';
import { makeSetup, type Setup } from './setup.ts';
import { CONNECTIONS, MAX_MORE_MS, measureWaits, moreMs, type WaitRow, waitsTooLong } from './waits.ts';

const MIN_CALLS = 3;
const MAX_CALLS = 200;
const ENOUGH_MS = 250;
/** Calls of which the longest turn is measured. The shortest of them counts: a disturbance only adds to it. */
const TURN_CALLS = 3;
/** Smaller bodies are not compared by their size: the fixed cost of a request would dominate. */
const MIN_COMPARED_BYTES = 64 * 1024;

interface Row {
  readonly input: Input;
  readonly bytes: number;
  readonly ms: number;
  /** Compared to JSON.parse for as many bytes of ordinary JSON. Null: too few bytes to compare. */
  readonly ratio: number | null;
  /** The longest time without giving way to others. */
  readonly turnMs: number;
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

/** The longest time between two passes of the event loop during a call, in processor time. */
async function turnMsOf(call: () => Promise<void>): Promise<number> {
  const turns: number[] = [];
  for (let i = 0; i < TURN_CALLS; i++) turns.push(await longestTurnMs(call));
  return Math.min(...turns);
}

async function longestTurnMs(call: () => Promise<void>): Promise<number> {
  // What earlier calls have left behind is no part of it.
  Bun.gc(true);
  const watch = { isOn: true, longest: 0, lastMs: threadMs() };
  const pass = (): void => {
    const nowMs = threadMs();
    watch.longest = Math.max(watch.longest, nowMs - watch.lastMs);
    watch.lastMs = nowMs;
    if (watch.isOn) setImmediate(pass);
  };
  setImmediate(pass);
  await call();
  // The pass of the answer.
  await new Promise((resolve) => setImmediate(resolve));
  watch.isOn = false;
  return watch.longest;
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
  const call = async (): Promise<void> => {
    const answer = await service.call(path, undefined, options);
    if (answer.status !== status)
      throw new Error(
        `${routeOf(input)}, ${input.what}: expected status ${status}, got ${answer.status} ${answer.text.slice(0, 300)}`,
      );
  };
  const ms = await threadMsOf(call);
  const turnMs = await turnMsOf(call);
  const ratio = bytes < MIN_COMPARED_BYTES ? null : ms / (await parsingMs(bytes));
  return { input, bytes, ms, ratio, turnMs, ratioToLargest: ms / (await parsingMs(MAX_IMPORT_BODY_BYTES)) };
}

/** A row above its gate is measured a second time, and the faster result counts: a disturbance is not a regression. */
async function measureOrRepeat(setup: Setup, input: Input): Promise<Row> {
  const first = await measure(setup, input);
  if (!hasFailed(first)) return first;
  const second = await measure(setup, input);
  return hasFailed(second) && second.ratioToLargest > first.ratioToLargest ? first : second;
}

function hasFailed({ input, ratioToLargest, turnMs }: Row): boolean {
  return isTooSlow(input, ratioToLargest) || turnMs > MAX_TURN_MS;
}

function parsingMs(bytes: number): Promise<number> {
  const ordinary = ordinaryJson(bytes);
  return threadMsOf(async () => void JSON.parse(ordinary));
}

const INTRODUCTION = `Sends the slowest input that each bound allows and measures how long one request keeps the answering thread busy.
- Thread, ms: processor time of the answering thread for one request.
- Turn, ms: the longest part of it without giving way to others. A row fails above ${MAX_TURN_MS} ms.
- Times JSON.parse: compared to JSON.parse for as many bytes of ordinary JSON. "-" below 64 KiB.
- Times 4 MiB: compared to JSON.parse for 4 MiB of ordinary JSON.
- Usual: the usual value of "Times 4 MiB". A row fails above ${MAX_GROWTH} times its usual value.`;

const HEAD = `| Route | Worst input | Bound | Bytes | Thread, ms | Turn, ms | Times JSON.parse | Times 4 MiB | Usual |
|---|---|---|---|---|---|---|---|---|`;

const WAITS = `What ${CONNECTIONS} connections send, and how long a small verification of another client waits meanwhile.
- Alone, beside them: the longest wait in a run of 2 s, median of five runs, in ms. First processor time of the answering thread, then by the
  clock, with what other programs do.
- More: how much longer, in processor time. A row fails above ${MAX_MORE_MS} ms.
- Answers: of all runs, by their status.

| Route | What each of them sends | Bytes | Alone | Beside them | More | Answers |
|---|---|---|---|---|---|---|`;

function lineOf({ input, bytes, ms, turnMs, ratio, ratioToLargest }: Row): string {
  const route = routeOf(input);
  const numbers = [
    ms.toFixed(1),
    turnMs.toFixed(1),
    ratio?.toFixed(1) ?? '-',
    short(ratioToLargest),
    String(usualOf(input)),
  ];
  return `| ${[route === 'any' ? route : `\`${route}\``, input.what, input.bound, bytes.toLocaleString('en-US'), ...numbers].join(' | ')} |`;
}

function waitLineOf(row: WaitRow): string {
  const { crowd, bytes, alone, beside, statuses } = row;
  const route = /^\/v1\/([\w.]*)/.exec(crowd.path)?.[1];
  const shown = ({ ms, threadMs: worked }: WaitRow['alone']): string =>
    `${worked?.toFixed(1) ?? '-'}, ${ms.toFixed(1)}`;
  const answers = statuses.replaceAll(/[{}"]/g, '').replaceAll(',', ', ').replaceAll(':', ': ');
  const numbers = [bytes.toLocaleString('en-US'), shown(alone), shown(beside), moreMs(row).toFixed(1), answers];
  return `| ${[`\`${route}\``, crowd.what, ...numbers].join(' | ')} |`;
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
  console.log(`\n${WAITS}`);
  const waits = await measureWaits('', (row) => console.log(waitLineOf(row)));
  const failed = rows.filter(hasFailed);
  const waiting = waits.filter(waitsTooLong);
  for (const row of failed) console.error(`TOO SLOW: ${lineOf(row)}`);
  for (const row of waiting) console.error(`OTHERS WAIT TOO LONG: ${waitLineOf(row)}`);
  const count = rows.length + waits.length;
  console.log(`\n${count - failed.length - waiting.length} of ${count} rows are within their bounds.`);
  process.exitCode = failed.length + waiting.length === 0 ? 0 : 1;
} finally {
  await setup.service.close();
}
