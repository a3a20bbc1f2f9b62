import { maxBodyBytesOf } from '../../src/http/routes/routeTable.ts';
import { checkHost } from '../../src/http/request/body.ts';
import { ResponseHeads } from '../../src/http/front/responder.ts';
import { Front } from '../../src/http/front/front.ts';
import { AddressLimit, ConnectionLimit, MemoryBudget } from '../../src/http/front/frontLimits.ts';
import { Turns } from '../../src/engine/fairTurns.ts';
import { LargeBodies } from '../../src/http/front/requestBody.ts';
import { afterOthers } from '../../src/bunPlatform.ts';
import { RecordingApp, type Seen } from './app.ts';

const HOSTNAME = '127.0.0.1';
const SIZE = { connections: 1000, refusals: 0, firstReserved: Infinity };

/** A running server, with the requests that the application behind it received. */
export interface Target {
  readonly port: number;
  /** Returns the requests since the last call, in order. */
  takeSeen(): Seen[];
  stop(): Promise<void>;
}

export function startFront(): Target {
  const app = new RecordingApp(true);
  const front = new Front(
    { hostname: HOSTNAME, port: 0, certificates: null, minTlsVersion: '1.2' },
    new ConnectionLimit(SIZE, new AddressLimit(SIZE.connections, [])),
    {
      ...app.verification,
      handle: app.handle,
      maxBodyBytes: maxBodyBytesOf,
      heads: new ResponseHeads(Date.now),
      responded: () => undefined,
      lifetime: { isStopping: false },
      hasCors: false,
      checkHost,
      turns: new Turns(() => performance.now(), afterOthers),
      clientOf: () => 'client',
      largeBodies: new LargeBodies({ after: (milliseconds, work) => void setTimeout(work, milliseconds), afterOthers }),
      memory: new MemoryBudget(),
    },
  );
  return {
    port: front.port,
    takeSeen: () => taken(app),
    async stop() {
      front.stopListening();
      front.closeAll();
    },
  };
}

/** The server of the runtime. It answers at once, because it closes a connection that receives more bytes before an answer. */
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
