import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

import { decider, type Passed, type ProtectOptions } from './protect.ts';

export type { Passed, ProtectOptions } from './protect.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The verdict. Only a route behind `protect` has it: it is null on others. */
    keystile: Passed;
  }
}

/** Makes `request.keystile` known. Register it once: `await app.register(keystile)`. */
export async function keystile(app: FastifyInstance): Promise<void> {
  app.decorateRequest('keystile');
}
// Fastify then gives the decorator to the whole app, not only to this plugin.
Object.assign(keystile, { [Symbol.for('skip-override')]: true });

/** A preHandler hook for one route. */
export function protect(
  options: ProtectOptions<FastifyRequest> = {},
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined> {
  const decide = decider<FastifyRequest>(options, ({ headers }) => (name) => {
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
    request.keystile = verdict as Passed;
    return undefined;
  };
}
