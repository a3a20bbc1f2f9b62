import type { Context, MiddlewareHandler } from 'hono';
import { type Passed, type ProtectOptions } from './protect.ts';
export type { Passed, ProtectOptions } from './protect.ts';
/** For `new Hono<{ Variables: KeystileVariables }>()` where handlers of other files read the verdict. */
export interface KeystileVariables {
  readonly keystile: Passed;
}
/** Middleware for Hono. The handler finds the verdict with `context.get('keystile')`. */
export declare function protect(options?: ProtectOptions<Context>): MiddlewareHandler<{
  Variables: {
    keystile: Passed;
  };
}>;
