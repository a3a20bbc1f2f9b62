import { connect } from 'node:net';

import { Child } from './child.ts';
import { fillFolder } from './fill.ts';

const KEYS = 100;
/** As many as fit into 600 KB; each answer has 430 KB. */
const REQUESTS = 12_631;
const BYTES = Buffer.from('GET /openapi.json HTTP/1.1\r\nHost: keystile\r\n\r\n'.repeat(REQUESTS));
const WATCHED_MS = 5000;

export interface PipelinedResult {
  /** The longest time that another client waits for an answer: alone, and from when so many clients send until long after. */
  readonly aloneMs: number;
  readonly oneMs: number;
  readonly tenMs: number;
}

/** Clients that each send very many requests for a large document in one write, and go. */
export async function measurePipelined(folder: string): Promise<PipelinedResult> {
  fillFolder(folder, KEYS, 'plain');
  const child = await Child.startService({ folder, addedFlushMs: 0 });
  await longestWaitMs(child.port, 0);
  const aloneMs = await longestWaitMs(child.port, 0);
  const oneMs = await longestWaitMs(child.port, 1);
  const tenMs = await longestWaitMs(child.port, 10);
  await child.stop();
  return { aloneMs, oneMs, tenMs };
}

async function longestWaitMs(port: number, clients: number): Promise<number> {
  const sent = Promise.all(Array.from({ length: clients }, () => sendAndGo(port)));
  const startedAt = performance.now();
  let longest = 0;
  while (performance.now() - startedAt < WATCHED_MS) {
    const askedAt = performance.now();
    await (await fetch(`http://127.0.0.1:${port}/v1/liveness`)).text();
    longest = Math.max(longest, performance.now() - askedAt);
    await Bun.sleep(1);
  }
  await sent;
  return longest;
}

function sendAndGo(port: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const socket = connect(port, '127.0.0.1', () => socket.write(BYTES, () => socket.destroy()));
  // It may be reset before it has gone by itself.
  socket.on('error', () => {});
  socket.on('close', () => resolve());
  return promise;
}
