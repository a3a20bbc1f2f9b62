import { decider } from './protect.js';
/** Makes `request.keystile` known. Register it once: `await app.register(keystile)`. */
export async function keystile(app) {
  app.decorateRequest('keystile', null);
}
// Fastify then gives the decorator to the whole app, not only to this plugin.
Object.assign(keystile, { [Symbol.for('skip-override')]: true });
/** A preHandler hook for one route. */
export function protect(options = {}) {
  const decide = decider(options, ({ headers }) => (name) => {
    const value = headers[name];
    return typeof value === 'string' ? value : value?.[0];
  });
  return async (request, reply) => {
    const { verdict, refusal, headers } = await decide(request);
    if (refusal !== null)
      return reply
        .code(refusal.status)
        .headers({ ...refusal.headers })
        .send(JSON.stringify(refusal.body));
    void reply.headers({ ...headers });
    request.keystile = verdict;
    return undefined;
  };
}
