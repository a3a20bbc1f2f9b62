import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Passed, type ProtectOptions } from './protect.js';
export type { Passed, ProtectOptions } from './protect.js';
declare module 'fastify' {
  interface FastifyRequest {
    /** The verdict. Only a route behind `protect` has it: it is null on others. */
    keystile: Passed;
  }
}
/** Makes `request.keystile` known. Register it once: `await app.register(keystile)`. */
export declare function keystile(app: FastifyInstance): Promise<void>;
/** A preHandler hook for one route. */
export declare function protect(
  options?: ProtectOptions<FastifyRequest>,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined>;
