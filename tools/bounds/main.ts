import { cpus } from 'node:os';

import { MAX_IMPORT_BODY_BYTES } from '../../src/core/bounds.ts';
import { VERSION } from '../../src/version.ts';
import { ordinaryJson } from './fill.ts';
import type { Input } from './input.ts';
import { managementInputs } from './managementInputs.ts';
import { openInputs } from './openInputs.ts';
import { makeWorld, type World } from './world.ts';

const MIN_CALLS = 3;
const MAX_CALLS = 200;
const ENOUGH_MS = 250;
/** Nothing may take longer than so many times JSON.parse for the largest ordinary body. */
const MAX_RATIO = 30;
/** Below it, what a request costs at all is more than what its bytes cost. */
const MIN_COMPARED_BYTES = 64 * 1024;

interface Row {
  readonly input: Input;
  readonly bytes: number;
  readonly ms: number;
  /** Against JSON.parse for as many ordinary bytes; null where these are too few to compare. */
  readonly ratio: number | null;
  /** Against JSON.parse for the largest body, measured beside it: the speed of a machine changes. */
  readonly ratioToLargest: number;
}

/**
 * What one call keeps the answering thread busy for. Time on the processor, so that other programs do not count; the system
 * tells it in steps of some milliseconds, so it is taken over many calls.
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

async function measure({ service }: World, input: Input): Promise<Row> {
  const { path, body, isOpen, status } = input;
  const bytes = Buffer.byteLength(body ?? path);
  const options = {
    ...(isOpen ? { rootKey: null } : {}),
    ...(body === null ? { method: 'GET' } : { raw: body }),
  };
  const ms = await threadMsOf(async () => {
    const answer = await service.call(path, undefined, options);
    if (answer.status !== status)
      throw new Error(`${path}, ${input.what}: ${answer.status} ${answer.text.slice(0, 300)}`);
  });
  const ratio = bytes < MIN_COMPARED_BYTES ? null : ms / (await parsingMs(bytes));
  return { input, bytes, ms, ratio, ratioToLargest: ms / (await parsingMs(MAX_IMPORT_BODY_BYTES)) };
}

function parsingMs(bytes: number): Promise<number> {
  const ordinary = ordinaryJson(bytes);
  return threadMsOf(async () => void JSON.parse(ordinary));
}

const HEAD = `| Route | Worst input | Bound | Bytes | Thread, ms | Times JSON.parse | Times 4 MiB |
|---|---|---|---|---|---|---|`;

function lineOf({ input, bytes, ms, ratio, ratioToLargest }: Row): string {
  const route = input.status === 404 && input.body === null ? 'any' : `\`${/^\/v1\/([\w.]*)/.exec(input.path)?.[1]}\``;
  const numbers = [ms.toFixed(1), ratio?.toFixed(1) ?? '-', ratioToLargest.toFixed(1)];
  return `| ${[route, input.what, input.bound, bytes.toLocaleString('en-US'), ...numbers].join(' | ')} |`;
}

/** Prints a table, and answers the rows that take too long. */
async function measureAll(title: string, world: World, inputs: readonly Input[]): Promise<Row[]> {
  const failed: Row[] = [];
  console.log(`\n${title}\n\n${HEAD}`);
  for (const input of inputs) {
    const row = await measure(world, input);
    console.log(lineOf(row));
    if (row.ratioToLargest > MAX_RATIO) failed.push(row);
  }
  return failed;
}

console.log(`Keystile ${VERSION} on Bun ${Bun.version}, ${cpus().length} x ${cpus()[0]?.model}`);
const world = await makeWorld();
try {
  const failed = [
    ...(await measureAll('Without a root key', world, openInputs(world))),
    ...(await measureAll('With a root key', world, managementInputs(world))),
  ];
  for (const row of failed) console.error(`TOO LONG: ${lineOf(row)}`);
  process.exitCode = failed.length === 0 ? 0 : 1;
} finally {
  await world.service.close();
}
