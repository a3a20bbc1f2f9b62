import { CONNECTION_TIMEOUT_SECONDS } from '../http/front/responder.ts';
import { Front } from '../http/front/front.ts';
import { ConnectionLimit } from '../http/front/connectionLimit.ts';
import { makeFrontContext } from '../http/front/frontContext.ts';
import type { BackgroundGauges, Gauges } from '../http/answer/metrics.ts';
import type { Service } from '../http/service.ts';
import { VERSION } from '../version.ts';
import { locationOf } from '../compose.ts';
import { boundsWithoutLimit } from './openFiles.ts';
import { makeRuntimeFetch } from './runtimeServer.ts';

/** Routes refuse what is too long for them, with an answer; this only bounds what the runtime would hold. */
const MAX_RUNTIME_BODY_BYTES = 1 << 30;
const METRICS_PATH = /^(?:http:\/\/[^/]*)?\/metrics(?:\?|$)/;
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

export function listenApi(service: Service, size = boundsWithoutLimit(service.config.maxConnections)): ListeningApi {
  return service.config.httpServer === 'front'
    ? listenFront(service, new ConnectionLimit(size))
    : listenRuntime(service, size.connections);
}

/** The server of Keystile itself (ADR 13). */
function listenFront(service: Service, limit: ConnectionLimit): ListeningApi {
  const { host, port } = service.config;
  const front = new Front(host, port, limit, makeFrontContext(service));
  return {
    port: front.port,
    connections: () => front.connections,
    refusals: () => limit.refused,
    async stop() {
      front.stopListening();
      await drained(() => front.inFlight);
      front.closeAll();
    },
  };
}

/** The server of the runtime, with the same answers. It does not tell how many connections it has, only how many requests. */
function listenRuntime(service: Service, maxPending: number): ListeningApi {
  const { config } = service;
  const { fetch, error, refused } = makeRuntimeFetch(service, maxPending);
  const server: Bun.Server<undefined> = Bun.serve({
    hostname: config.host,
    port: config.port,
    idleTimeout: CONNECTION_TIMEOUT_SECONDS,
    maxRequestBodySize: MAX_RUNTIME_BODY_BYTES,
    development: false,
    reusePort: false,
    fetch,
    error,
  });
  return { ...toListening(server), connections: () => server.pendingRequests, refusals: refused };
}

/**
 * Waits until two checks in a row find nothing in flight: after the first one, a request may have arrived that is not read yet. Gives up
 * after DRAIN_MAX_MS.
 */
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
      // Not parsed as a URL: without a Host, or with an unusual one, it is not a valid URL.
      if (!METRICS_PATH.test(request.url)) return new Response('Metrics are at /metrics.\n', { status: 404 });
      const text = service.metrics.text({
        version: VERSION,
        location: locationOf(config),
        cacheHits: engine.keyCache.hits,
        cacheMisses: engine.keyCache.misses,
        cachedKeys: engine.keyCache.size,
        unsavedLocalCounts: engine.localLimits.unsavedSize,
        ledgerWaiting: engine.storage.ledger.waiting,
        lookupsWaiting: engine.keyCache.lookupsWaiting,
        otherTags: engine.openCounts.tagLists.others,
        ...gauges(),
      });
      return new Response(text, { headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' } });
    },
  });
  return toListening(server);
}

/** Compared by digest, so that the time of the comparison does not reveal where the tokens differ. */
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
