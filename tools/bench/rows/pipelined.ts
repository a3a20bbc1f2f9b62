import { connect } from 'node:net';

import { Child } from '../child.ts';
import { fillFolder } from '../fill.ts';

const KEYS = 100;
/** As many requests as fit into 600 KB. Each answer has 430 KB. */
const REQUESTS = 12_631;
const BYTES = Buffer.from('GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(REQUESTS));
const WATCHED_MS = 5000;

export interface PipelinedResult {
  /** The longest time that another client waits for an answer: without such clients, with one, and with ten. */
  readonly aloneMs: number;
  readonly oneMs: number;
  readonly tenMs: number;
}

/** Clients that send many requests for a large document in one write and then disconnect. */
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
  // The server may reset the connection before the client closes it.
  socket.on('error', () => {});
  socket.on('close', () => resolve());
  return promise;
}
