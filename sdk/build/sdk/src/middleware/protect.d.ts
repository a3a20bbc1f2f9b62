import { Keystile } from '../keystile.ts';
import { type RefusalResponse } from '../refusal.ts';
import type { UnavailableVerdict, ValidVerdict, Verdict } from '../verdict.ts';
import type { VerifyOptions } from '../verifyRequest.ts';
/** The verdict of a request that passed: VALID, or UNAVAILABLE where `onUnavailable` let it pass. */
export type Passed =
  | ValidVerdict
  | (UnavailableVerdict & {
      readonly valid: true;
    });
/** What one route asks of a key. */
export interface ProtectOptions<R> extends Omit<VerifyOptions, 'signal' | 'idempotencyKey' | 'clientIp'> {
  /** The client to use. Default: one for all routes, made from KEYSTILE_URL. */
  readonly keystile?: Pick<Keystile, 'verify'> | undefined;
  /** Where the key is. Default: `Authorization: Bearer`, then `X-API-Key`. */
  readonly key?: ((request: R) => string | null | undefined) | undefined;
  /** The address of the client, for keys with an `ipAllowlist`. */
  readonly clientIp?: ((request: R) => string | undefined) | undefined;
}
export interface Decision {
  readonly verdict: Verdict;
  /** Null: the request passes. */
  readonly refusal: RefusalResponse | null;
  /** For the answer of a request that passes. */
  readonly headers: Readonly<Record<string, string>>;
}
type HeaderReader = (name: string) => string | null | undefined;
/** Decides about requests of one framework; each middleware only reads the header and writes the answer. */
export declare function decider<R>(
  options: ProtectOptions<R>,
  headerOf: (request: R) => HeaderReader,
): (request: R) => Promise<Decision>;
export {};
