import { maxBodyBytesOf } from '../../src/http/request/bodyBounds.ts';
import { ResponseHeads } from '../../src/http/front/responseHead.ts';
import { Front } from '../../src/http/front/front.ts';
import { ConnectionLimit } from '../../src/http/front/connectionLimit.ts';
import { MemoryBudget } from '../../src/http/front/memoryBudget.ts';
import { FairTurns } from '../../src/http/front/fairTurns.ts';
import { RecordingApp, type Seen } from './app.ts';

const HOSTNAME = '127.0.0.1';
const SIZE = { connections: 1000, refusals: 0, firstReserved: Infinity };

/** A server that listens, and what the application behind it was asked. */
export interface Target {
  readonly port: number;
  /** What was asked since the last time, in its order. */
  takeSeen(): Seen[];
  stop(): Promise<void>;
}

export function startFront(): Target {
  const app = new RecordingApp(true);
  const front = new Front(HOSTNAME, 0, new ConnectionLimit(SIZE), {
    ...app.verification,
    handle: app.handle,
    maxBodyBytes: maxBodyBytesOf,
    heads: new ResponseHeads(Date.now),
    responded: () => undefined,
    hasCors: false,
    turns: new FairTurns(() => performance.now()),
    memory: new MemoryBudget(),
  });
  return {
    port: front.port,
    takeSeen: () => taken(app),
    async stop() {
      front.stopListening();
      front.closeAll();
    },
  };
}

/** The server of the runtime alone. It answers at once: it closes a connection on which more comes before an answer. */
export function startRuntime(): Target {
  const app = new RecordingApp(false);
  const server = Bun.serve({ hostname: HOSTNAME, port: 0, development: false, fetch: app.handle });
  return { port: server.port ?? 0, takeSeen: () => taken(app), stop: () => server.stop(true) };
}

function taken(app: RecordingApp): Seen[] {
  const { seen } = app;
  app.seen = [];
  return seen;
}
