import { AppError } from '../core/errors.ts';
import { answerFailure } from '../http/answer/answerFailure.ts';
import { makeHandler } from '../http/app.ts';
import { checkFraming, hostCheck } from '../http/request/framing.ts';
import type { Service } from '../http/service.ts';

const TOO_MANY = new AppError(
  'UNAVAILABLE',
  'This node has reached its limit of requests at one time. Try again later.',
);

type Server = Bun.Server<undefined>;

/** How the runtime's server answers: like the front, as far as the runtime allows. */
export interface RuntimeFetch {
  fetch(this: void, request: Request, server: Server): Promise<Response>;
  error(this: void, error: Error): Response;
  /** Requests that were refused since the start, because there were too many. */
  refused(this: void): number;
}

/** `maxPending`: requests that are answered at a time. Idle connections are not seen here, and are not bounded. */
export function makeRuntimeFetch(service: Service, maxPending: number): RuntimeFetch {
  const { metrics, lifetime } = service;
  let refused = 0;
  const mayBeCalled = hostCheck(service.config.host, service.config.publicUrl);
  const handle = makeHandler(service);
  const answer = async (request: Request, server: Server): Promise<Response> => {
    try {
      if (server.pendingRequests > maxPending) {
        refused++;
        throw TOO_MANY;
      }
      checkFraming(request.headers, mayBeCalled);
    } catch (failure) {
      return closing(answerFailure(service, failure, { path: null, isGone: () => request.signal.aborted }));
    }
    const peer = server.requestIP(request)?.address ?? null;
    const response = await handle(withUrl(request), () => peer);
    return lifetime.isStopping || isLast(request) ? closing(response) : response;
  };
  return {
    async fetch(request, server) {
      const response = await answer(request, server);
      metrics.responded(response.status);
      return response;
    },
    error(error) {
      const response = answerFailure(service, error, { path: null, isGone: () => false });
      metrics.responded(response.status);
      return response;
    },
    refused: () => refused,
  };
}

/**
 * Without a Host header, the runtime's `request.url` has no origin. With a Host like `1.2.3.999`, which HTTP allows, it is not a valid URL
 * either. Both get another host name, because no code uses the name.
 */
function withUrl(request: Request): Request {
  const { url } = request;
  return URL.canParse(url) ? request : new Request(`http://keystile${targetOf(url)}`, request);
}

/** Path and query. */
function targetOf(url: string): string {
  if (url.startsWith('/')) return url;
  const at = url.indexOf('/', url.indexOf('://') + '://'.length);
  return at < 0 ? '/' : url.slice(at);
}

/** The runtime does not report the HTTP version; a missing Host implies HTTP/1.0. */
function isLast({ headers }: Request): boolean {
  const tokens = headers.get('connection')?.toLowerCase().split(/ *, */) ?? [];
  return tokens.includes('close') || headers.get('host') === null;
}

/** Tells the client that the connection closes. The runtime does not add this header itself. */
function closing(response: Response): Response {
  response.headers.set('connection', 'close');
  return response;
}
