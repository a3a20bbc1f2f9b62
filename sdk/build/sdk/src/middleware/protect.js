import { Keystile } from '../keystile.js';
import { ratelimitHeaders, refusalOf } from '../refusal.js';
let shared;
/** Decides about requests of one framework; each middleware only reads the header and writes the answer. */
export function decider(options, headerOf) {
  const { keystile, key: find, clientIp, ...asked } = options;
  // At once: a missing address is an error of the start, not of every request.
  const client = keystile ?? (shared ??= new Keystile());
  return async (request) => {
    const key = find === undefined ? keyIn(headerOf(request)) : find(request);
    const address = clientIp?.(request);
    const verdict = await client.verify(key ?? '', address === undefined ? asked : { ...asked, clientIp: address });
    return { verdict, refusal: refusalOf(verdict), headers: ratelimitHeaders(verdict) };
  };
}
function keyIn(header) {
  const bearer = /^Bearer +(.+)$/i.exec(header('authorization')?.trim() ?? '')?.[1];
  return bearer ?? header('x-api-key')?.trim();
}
