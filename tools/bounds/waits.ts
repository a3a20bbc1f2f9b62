import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Child } from '../bench/child.ts';
import { addRootKey, API_ID, fillFolder, ROOT_KEY } from '../bench/fill.ts';
import { mainThreadNanoseconds } from '../bench/process.ts';
import { secretOf } from '../bench/requests.ts';
import { median } from '../bench/statistics.ts';
import type { CrowdOrder } from './crowd.ts';
import { type Crowd, crowds } from './crowds.ts';
import { answersIn, requestText } from './wire.ts';

/** Connections of a crowd, all from one address. */
export const CONNECTIONS = 256;
/** So much longer may a small verification of another client wait. */
export const MAX_MORE_MS = 50;
const RUNS = 5;
const RUN_MS = 2_000;
/** Before the first run: all connections have sent something. */
const WARM_UP_MS = 1_000;
const PAUSE_MS = 4;
const KEYS = 10;
const CROWD_ADDRESS = '198.51.100.1';
const OTHER_ADDRESS = '203.0.113.1';

/** The longest wait in a run. */
interface Wait {
  readonly ms: number;
  /** Processor time of the answering thread meanwhile; null: the system does not tell. Other programs do not count. */
  readonly threadMs: number | null;
}

export interface WaitRow {
  readonly crowd: Crowd;
  readonly bytes: number;
  readonly alone: Wait;
  readonly beside: Wait;
  /** How often each status was answered to the crowd. */
  readonly statuses: string;
}

/** How long a small verification waits while a crowd sends something. Medians of the runs. */
export async function measureWaits(only: string, onRow: (row: WaitRow) => void): Promise<WaitRow[]> {
  const rows: WaitRow[] = [];
  for (const crowd of crowds({ apiId: API_ID, key: secretOf(0) })) {
    if (!crowd.what.includes(only)) continue;
    const row = await measureRow(crowd);
    // As with the other rows, a disturbance is no regression.
    const kept = waitsTooLong(row) ? await measureRow(crowd) : row;
    onRow(kept);
    rows.push(kept);
  }
  return rows;
}

export function waitsTooLong(row: WaitRow): boolean {
  return moreMs(row) > MAX_MORE_MS;
}

/** How much longer the wait is, in processor time of the answering thread where that is known. */
export function moreMs({ alone, beside }: Pick<WaitRow, 'alone' | 'beside'>): number {
  if (alone.threadMs === null || beside.threadMs === null) return beside.ms - alone.ms;
  return beside.threadMs - alone.threadMs;
}

async function measureRow(crowd: Crowd): Promise<WaitRow> {
  const folder = mkdtempSync(join(tmpdir(), 'keystile-waits-'));
  fillFolder(folder, KEYS, 'plain');
  addRootKey(folder);
  const service = await Child.startService({
    folder,
    addedFlushMs: 0,
    flags: { trustedProxies: '127.0.0.1', logLevel: 'error' },
  });
  try {
    const rootKey = { none: null, 'with the right': ROOT_KEY, 'without the right': await limitedRootKey(service.port) };
    const text = requestText(crowd, CROWD_ADDRESS, rootKey[crowd.rootKey]);
    const file = join(folder, 'crowd');
    writeFileSync(file, text.repeat(crowd.count), 'latin1');
    const alone = await longestWaits(service);
    const { beside, statuses } = await besideCrowd(service, { file, answers: crowd.count });
    return { crowd, bytes: text.length * crowd.count, alone: medianOf(alone), beside: medianOf(beside), statuses };
  } finally {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function limitedRootKey(port: number): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/rootKeys.createRootKey`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${ROOT_KEY}` },
    body: JSON.stringify({ name: 'limited', permissions: ['ratelimit.ns_x.limit'] }),
  });
  const made = (await response.json()) as { readonly key: string };
  return made.key;
}

async function besideCrowd(
  service: Child,
  order: Pick<CrowdOrder, 'file' | 'answers'>,
): Promise<{ beside: Wait[]; statuses: string }> {
  const path = fileURLToPath(new URL('crowd.ts', import.meta.url));
  const whole: CrowdOrder = { ...order, port: service.port, connections: CONNECTIONS };
  const crowd = Bun.spawn([process.execPath, ...process.execArgv, path, JSON.stringify(whole)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await Bun.sleep(WARM_UP_MS);
  const beside = await longestWaits(service);
  await crowd.stdin.end();
  const killing = setTimeout(() => crowd.kill('SIGKILL'), WARM_UP_MS);
  const [, statuses = ''] = (await new Response(crowd.stdout).text()).split('\n');
  clearTimeout(killing);
  return { beside, statuses };
}

async function longestWaits(service: Child): Promise<Wait[]> {
  const waits: Wait[] = [];
  for (let run = 0; run < RUNS; run++) waits.push(await longestWait(service));
  return waits;
}

/** A client that verifies a key, waits for the answer and pauses, again and again. */
async function longestWait({ pid, port }: Child): Promise<Wait> {
  const bytes = requestText(
    { method: 'POST', path: '/v1/keys.verifyKey', body: JSON.stringify({ key: secretOf(1) }) },
    OTHER_ADDRESS,
  );
  let answered = Promise.withResolvers<void>();
  let received: Buffer = Buffer.alloc(0);
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      data(_socket, chunk) {
        const { statuses, rest } = answersIn(Buffer.concat([received, chunk]));
        received = rest;
        if (statuses.some((status) => status !== '200')) answered.reject(new Error(`answered ${statuses.join(' ')}`));
        if (statuses.length > 0) answered.resolve();
      },
      close: () => answered.reject(new Error('the service closed the connection of another client')),
    },
  });
  let longest: Wait = { ms: 0, threadMs: null };
  let longestThreadMs = 0;
  for (const endsAtMs = performance.now() + RUN_MS; performance.now() < endsAtMs; await Bun.sleep(PAUSE_MS)) {
    answered = Promise.withResolvers<void>();
    const [askedAtMs, workedNs] = [performance.now(), mainThreadNanoseconds(pid)];
    socket.write(bytes);
    await answered.promise;
    const worked = mainThreadNanoseconds(pid);
    if (worked !== null && workedNs !== null) longestThreadMs = Math.max(longestThreadMs, (worked - workedNs) / 1e6);
    const ms = Math.max(longest.ms, performance.now() - askedAtMs);
    longest = { ms, threadMs: worked === null ? null : longestThreadMs };
  }
  answered = Promise.withResolvers<void>();
  answered.promise.catch(() => {});
  socket.end();
  return longest;
}

function medianOf(waits: readonly Wait[]): Wait {
  const threads = waits.flatMap(({ threadMs }) => threadMs ?? []);
  return {
    ms: median(waits.map(({ ms }) => ms)),
    threadMs: threads.length === waits.length ? median(threads) : null,
  };
}
