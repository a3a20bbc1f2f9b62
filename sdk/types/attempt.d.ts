/** What is used of the standard's fetch. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;
export interface Attempt {
  readonly fetch: Fetch;
  readonly url: string;
  readonly path: string;
  readonly body: string;
  readonly rootKey: string | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}
/** A success. */
export interface Reply {
  readonly body: unknown;
  /** The time of the service, as far as it said so. The clock of this machine may differ. */
  readonly answeredAtMs: number | undefined;
}
/** Sends a request once. Throws a KeystileError for everything but a success. */
export declare function attempt({ fetch, url, path, body, rootKey, timeoutMs, signal }: Attempt): Promise<Reply>;
