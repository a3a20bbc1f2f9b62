import { makeHandler, makeVerifyHandler } from '../http/app.ts';
import type { BackgroundGauges } from '../http/metrics.ts';
import { verifyKey } from '../http/routes/keys.verifyKey.ts';
import type { Service } from '../http/service.ts';
import { VERSION } from '../version.ts';
import { locationOf } from './home.ts';

/** Closes connections whose headers or body do not arrive, and idle ones. The runtime checks every 4 s: 8 means 8 to 12. */
const CONNECTION_TIMEOUT_SECONDS = 8;
/** The largest body that any route takes is refused by us, with an answer; this only bounds what the runtime would buffer. */
const RUNTIME_MAX_BODY_BYTES = 1 << 30;
/** Length of `http://`, behind which the next slash begins the path. */
const PAST_SCHEME = 7;
const DRAIN_POLL_MS = 10;
/** Requests that are still not answered then (a body that never ends) are cut off. */
const DRAIN_MAX_MS = 10_000;

/** A server that listens; `port` is the real one where 0 was asked for. */
export interface Listening {
  readonly port: number;
  /** No new connections; what is in flight is answered; then the port is free. */
  stop(): Promise<void>;
}

export function listenApi(service: Service): Listening {
  const handle = makeHandler(service);
  const verify = makeVerifyHandler(service);
  let server: Bun.Server<undefined> | null = null;
  const peerOf = (request: Request): string | null => server?.requestIP(request)?.address ?? null;
  server = Bun.serve({
    hostname: service.config.host,
    port: service.config.port,
    idleTimeout: CONNECTION_TIMEOUT_SECONDS,
    maxRequestBodySize: RUNTIME_MAX_BODY_BYTES,
    development: false,
    // Off development Bun shares the port with whoever else listens on it: a second server would take half the requests.
    reusePort: false,
    // The route that is measured goes past the general dispatch. Bun's `routes` is no faster, and sees no query.
    fetch: (request) => (isPlainVerify(request) ? verify(request, peerOf) : handle(request, peerOf)),
    error: () =>
      Response.json(
        { error: { code: 'INTERNAL_SERVER_ERROR', message: 'Something went wrong here.' } },
        { status: 500 },
      ),
  });
  return toListening(server);
}

/** POST to the verify route with no query: what is left of the URL behind the host is the path. */
function isPlainVerify({ url, method }: Request): boolean {
  return (
    method === 'POST' &&
    url.endsWith(verifyKey.path) &&
    url.indexOf('/', PAST_SCHEME) === url.length - verifyKey.path.length
  );
}

export function listenMetrics(service: Service, gauges: () => BackgroundGauges): Listening {
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
      for (let waitedMs = 0; server.pendingRequests > 0 && waitedMs < DRAIN_MAX_MS; waitedMs += DRAIN_POLL_MS) {
        await Bun.sleep(DRAIN_POLL_MS);
      }
      await server.stop(true);
    },
  };
}
