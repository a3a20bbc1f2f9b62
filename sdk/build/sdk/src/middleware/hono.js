import { decider } from './protect.js';
/** Middleware for Hono. The handler finds the verdict with `context.get('keystile')`. */
export function protect(options = {}) {
  const decide = decider(
    options,
    ({ req }) =>
      (name) =>
        req.header(name),
  );
  return async (context, next) => {
    const { verdict, refusal, headers } = await decide(context);
    if (refusal !== null) return context.body(JSON.stringify(refusal.body), refusal.status, { ...refusal.headers });
    context.set('keystile', verdict);
    await next();
    for (const [name, value] of Object.entries(headers)) context.header(name, value);
    return undefined;
  };
}
