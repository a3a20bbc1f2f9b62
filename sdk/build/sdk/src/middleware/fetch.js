import { decider } from './protect.js';
/**
 * Protects a handler that takes a Request and answers a Response: Cloudflare Workers, Deno, Bun, Next.js route handlers. The handler gets
 * the verdict as its second argument, then what else it is called with.
 */
export function protect(options, handler) {
  const decide = decider(options, (request) => (name) => request.headers.get(name));
  return async (request, ...rest) => {
    const { verdict, refusal, headers } = await decide(request);
    if (refusal !== null)
      return new Response(JSON.stringify(refusal.body), { status: refusal.status, headers: refusal.headers });
    return withHeaders(await handler(request, verdict, ...rest), headers);
  };
}
/** A response of a cache or of fetch cannot be changed: it is copied. An upgraded connection stays as it is. */
function withHeaders(response, headers) {
  const entries = Object.entries(headers);
  if (entries.length === 0 || response.status < 200) return response;
  try {
    for (const [name, value] of entries) response.headers.set(name, value);
    return response;
  } catch {
    const copy = new Response(response.body, response);
    for (const [name, value] of entries) copy.headers.set(name, value);
    return copy;
  }
}
