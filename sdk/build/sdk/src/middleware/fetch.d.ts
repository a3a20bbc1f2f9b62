import { type Passed, type ProtectOptions } from './protect.ts';
export type { Passed, ProtectOptions } from './protect.ts';
/**
 * Protects a handler that takes a Request and answers a Response: Cloudflare Workers, Deno, Bun, Next.js route handlers. The handler gets
 * the verdict as its second argument, then what else it is called with.
 */
export declare function protect<R extends Request, A extends readonly unknown[]>(
  options: ProtectOptions<R>,
  handler: (request: R, verdict: Passed, ...rest: A) => Response | Promise<Response>,
): (request: R, ...rest: A) => Promise<Response>;
