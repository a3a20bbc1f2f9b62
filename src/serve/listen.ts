import { makeDirectVerification, makeHandler } from '../http/app.ts';
import { AnswerHeads } from '../http/front/answerHead.ts';
import { CONNECTION_TIMEOUT_SECONDS } from '../http/front/connection.ts';
import { Front } from '../http/front/front.ts';
import { Room } from '../http/front/room.ts';
import { LOOPBACK, ServerBehind } from '../http/front/pipe.ts';
import type { BackgroundGauges, Gauges } from '../http/metrics.ts';
import type { Service } from '../http/service.ts';
import { VERSION } from '../version.ts';
import { locationOf } from './home.ts';
import { roomWithoutLimit } from './openFiles.ts';

/** The largest body that any route takes is refused by us, with an answer; this only bounds what the runtime would buffer. */
const RUNTIME_MAX_BODY_BYTES = 1 << 30;
const DRAIN_POLL_MS = 10;
/** Requests that are still not answered then (a body that never ends) are cut off. */
const DRAIN_MAX_MS = 10_000;

/** A server that listens; `port` is the real one where 0 was asked for. */
export interface Listening {
  readonly port: number;
  /** No new connections; what is in flight is answered; then the port is free. */
  stop(): Promise<void>;
}

export interface ListeningApi extends Listening {
  connections(): number;
  /** Connections that were refused since the start, because there were too many. */
  refusals(): number;
}

/**
 * The front takes the connections and answers what is of the usual shape; behind it, on a port of its own that only this
 * machine reaches, the server of the runtime gets the rest, as it came.
 */
export function listenApi(service: Service, size = roomWithoutLimit(service.config.maxConnections)): ListeningApi {
  const { config, engine } = service;
  const room = new Room(size);
  const handle = makeHandler(service);
  let behind: ServerBehind | null = null;
  const server: Bun.Server<undefined> = Bun.serve({
    hostname: LOOPBACK,
    port: 0,
    idleTimeout: CONNECTION_TIMEOUT_SECONDS,
    maxRequestBodySize: RUNTIME_MAX_BODY_BYTES,
    development: false,
    reusePort: false,
    fetch(request) {
      const peer = server.requestIP(request);
      const client = peer === null ? undefined : behind?.clientOf(peer);
      // Someone else on this machine, who would be taken for whom he says that he speaks.
      if (client === undefined) return new Response('This port is for Keystile alone.\n', { status: 403 });
      return handle(request, () => client);
    },
    error: () =>
      Response.json(
        { error: { code: 'INTERNAL_SERVER_ERROR', message: 'Something went wrong here.' } },
        { status: 500 },
      ),
  });
  behind = new ServerBehind(server.port ?? 0, room);
  const parts = {
    verification: makeDirectVerification(service),
    handle,
    behind,
    heads: new AnswerHeads(() => engine.system.nowMs()),
    hasCors: config.corsOrigins !== null,
  };
  try {
    const front = new Front(config.host, config.port, room, parts);
    return {
      port: front.port,
      connections: () => front.connections,
      refusals: () => room.refused,
      stop: () => stopAll(front, server),
    };
  } catch (error) {
    void server.stop(true);
    throw error;
  }
}

async function stopAll(front: Front, server: Bun.Server<undefined>): Promise<void> {
  front.stopListening();
  await drained(() => front.inFlight + server.pendingRequests);
  front.closeAll();
  await server.stop(true);
}

/** Waits until nothing is in flight, at two looks in a row: what was handed over may not have been seen yet. What does not end is not waited for. */
async function drained(inFlight: () => number): Promise<void> {
  let calmLooks = 0;
  for (let waitedMs = 0; waitedMs < DRAIN_MAX_MS; waitedMs += DRAIN_POLL_MS) {
    calmLooks = inFlight() > 0 ? 0 : calmLooks + 1;
    if (calmLooks === 2) return;
    await Bun.sleep(DRAIN_POLL_MS);
  }
}

export function listenMetrics(
  service: Service,
  gauges: () => BackgroundGauges & Pick<Gauges, 'connections' | 'connectionsRefused'>,
): Listening {
  const { config, engine } = service;
  const server = Bun.serve({
    hostname: config.metricsHost,
    port: config.metricsPort,
    idleTimeout: CONNECTION_TIMEOUT_SECONDS,
    development: false,
    reusePort: false,
    fetch(request) {
      const isKnown =
        config.metricsToken === null || isToken(request.headers.get('authorization'), config.metricsToken);
      if (!isKnown) return new Response('The metrics need the token of KEYSTILE_METRICS_TOKEN.\n', { status: 401 });
      if (new URL(request.url).pathname !== '/metrics')
        return new Response('Metrics are at /metrics.\n', { status: 404 });
      const text = service.metrics.text({
        version: VERSION,
        location: locationOf(config),
        cacheHits: engine.keyCache.hits,
        cacheMisses: engine.keyCache.misses,
        cachedKeys: engine.keyCache.size,
        unsavedLocalCounts: engine.edge.unsavedSize,
        ledgerWaiting: engine.storage.ledger.waiting,
        lookupsWaiting: engine.keyCache.lookupsWaiting,
        ...gauges(),
      });
      return new Response(text, { headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' } });
    },
  });
  return toListening(server);
}

/** Compared by digest: the time it takes tells nothing of where they differ. */
function isToken(authorization: string | null, token: string): boolean {
  return Bun.SHA256.hash(authorization ?? '', 'hex') === Bun.SHA256.hash(`Bearer ${token}`, 'hex');
}

function toListening(server: Bun.Server<undefined>): Listening {
  return {
    port: server.port ?? 0,
    async stop() {
      void server.stop(false);
      await drained(() => server.pendingRequests);
      await server.stop(true);
    },
  };
}
