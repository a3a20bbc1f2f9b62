/** The worst of its kind that the bounds let through. */
export interface Input {
  readonly path: string;
  readonly what: string;
  readonly bound: string;
  /** null: a GET, all of it is in the path. */
  readonly body: string | null;
  /** Sent without a root key. */
  readonly isOpen: boolean;
  readonly status: number;
}

/** Inputs to one route: what is sent, how much of it there may be, the body, and the status that is answered. */
export type ToRoute = (what: string, bound: string, body: string, status?: number) => Input;

export function to(path: string, isOpen: boolean): ToRoute {
  return (what, bound, body, status = 400) => ({ path, what, bound, body, isOpen, status });
}

export function bytes(count: number): string {
  return `${count.toLocaleString('en-US')} bytes`;
}
