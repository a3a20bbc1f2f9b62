import type { Context, MiddlewareHandler } from 'hono';

import { decider, type Passed, type ProtectOptions } from './protect.ts';

export type { Passed, ProtectOptions } from './protect.ts';

/** For `new Hono<{ Variables: KeystileVariables }>()` where handlers of other files read the verdict. */
export interface KeystileVariables {
  readonly keystile: Passed;
}

/** Middleware for Hono. The handler finds the verdict with `context.get('keystile')`. */
export function protect(options: ProtectOptions<Context> = {}): MiddlewareHandler<{ Variables: { keystile: Passed } }> {
  const decide = decider<Context>(
    options,
    ({ req }) =>
      (name) =>
        req.header(name),
  );
  return async (context, next) => {
    const { verdict, refusal, headers } = await decide(context);
    if (refusal !== null) return context.body(JSON.stringify(refusal.body), refusal.status, { ...refusal.headers });
    context.set('keystile', verdict as Passed);
    await next();
    for (const [name, value] of Object.entries(headers)) context.header(name, value);
    return undefined;
  };
}
