import { makeHandler } from '../../../src/http/router.ts';
import type { Service } from '../../../src/http/service.ts';
import type { Listening } from '../../../src/serve/listen.ts';

/** The routes behind the runtime's own HTTP server: another reader of HTTP, which the front is compared with. */
export function startRuntime(service: Service): Listening {
  const handle = makeHandler(service);
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    development: false,
    fetch: (request, from) => handle(withUrl(request), () => from.requestIP(request)?.address ?? null),
  });
  return { port: server.port ?? 0, stop: () => server.stop(true) };
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
