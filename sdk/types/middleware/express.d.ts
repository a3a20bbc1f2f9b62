import { type Passed, type ProtectOptions } from './protect.js';
export type { Passed, ProtectOptions } from './protect.js';
declare global {
  namespace Express {
    interface Request {
      /** The verdict. Only a route behind `protect` has it. */
      keystile: Passed;
    }
  }
}
interface ExpressRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  keystile?: Passed;
}
interface ExpressResponse {
  status(code: number): this;
  setHeader(name: string, value: string): unknown;
  send(body: unknown): unknown;
}
/** Middleware for Express 4 and 5. The handler finds the verdict in `request.keystile`. */
export declare function protect<R extends ExpressRequest>(
  options?: ProtectOptions<R>,
): (request: R, response: ExpressResponse, next: (error?: unknown) => void) => void;
