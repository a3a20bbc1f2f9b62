/** The slowest input of its kind that the bounds allow. */
export interface Input {
  readonly path: string;
  readonly what: string;
  readonly bound: string;
  /** Null: a GET request, whose input is in the path. */
  readonly body: string | null;
  /** Sent without a root key. */
  readonly isOpen: boolean;
  readonly status: number;
}

/** Makes an input for one route: what is sent, how much of it is allowed, the body, and the expected status. */
export type ToRoute = (what: string, bound: string, body: string, status?: number) => Input;

export function to(path: string, isOpen: boolean): ToRoute {
  return (what, bound, body, status = 400) => ({ path, what, bound, body, isOpen, status });
}

/** The name of the endpoint, or `any` for a path that is none. */
export function routeOf({ path, body, status }: Input): string {
  return status === 404 && body === null ? 'any' : (/^\/v1\/([\w.]*)/.exec(path)?.[1] ?? 'any');
}

export function bytes(count: number): string {
  return `${count.toLocaleString('en-US')} bytes`;
}
