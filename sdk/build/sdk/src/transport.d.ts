import { type Fetch, type Reply } from './attempt.ts';
import { KeystileError } from './errors.ts';
export interface TransportOptions {
  /** The nearest first. */
  readonly urls: readonly string[];
  readonly rootKey: string | undefined;
  readonly timeoutMs: number;
  readonly totalTimeoutMs: number;
  readonly retries: number;
  readonly fetch: Fetch;
}
export interface Sending {
  readonly path: string;
  readonly body: unknown;
  /** To repeat the call does no harm, also when its outcome is unknown. */
  readonly isRepeatable: boolean;
  readonly signal?: AbortSignal | undefined;
}
/** Sends calls, and repeats those that failed where that is safe. */
export declare class Transport {
  #private;
  constructor(options: TransportOptions);
  send({ path, body, isRepeatable, signal }: Sending): Promise<Reply>;
}
/**
 * The service or the way to it is in trouble. Otherwise the request itself was refused, by the service or by a gateway before it, or the
 * caller gave up: then nothing is tried again, and nothing passes.
 */
export declare function isTrouble({ code, status }: KeystileError): boolean;
