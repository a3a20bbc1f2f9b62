import { decider, type Passed, type ProtectOptions } from './protect.ts';

export type { Passed, ProtectOptions } from './protect.ts';

declare global {
  // The types of Express 4 and 5 can be extended only through this namespace.
  // oxlint-disable-next-line typescript/no-namespace
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
  // Of any body: Express takes this type for the bodies of all handlers of a route.
  send(body: unknown): unknown;
}

/** Middleware for Express 4 and 5. The handler finds the verdict in `request.keystile`. */
export function protect<R extends ExpressRequest>(
  options: ProtectOptions<R> = {},
): (request: R, response: ExpressResponse, next: (error?: unknown) => void) => void {
  const decide = decider<R>(
    options,
    ({ headers }) =>
      (name) =>
        firstOf(headers[name]),
  );
  const answer = async (request: R, response: ExpressResponse): Promise<boolean> => {
    const { verdict, refusal, headers } = await decide(request);
    for (const [name, value] of Object.entries(refusal?.headers ?? headers)) response.setHeader(name, value);
    if (refusal === null) request.keystile = verdict as Passed;
    else response.status(refusal.status).send(JSON.stringify(refusal.body));
    return refusal === null;
  };
  return (request, response, next) => {
    answer(request, response).then((passes) => (passes ? next() : undefined), next);
  };
}

function firstOf(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}
