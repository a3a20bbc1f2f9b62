import type { Fetch } from './attempt.ts';
import type { CallOptions } from './call.ts';
import { KeystileError } from './errors.ts';
import { type Groups } from './generated/api.ts';
import { HeldReservation, type ReserveOptions } from './heldReservation.ts';
import type { Verdict } from './verdict.ts';
import { type VerifyOptions } from './verifyRequest.ts';
/** What was asked, without the key. */
export type AskedVerification = Omit<VerifyOptions, 'signal'>;
export type UnavailablePolicy =
  | 'refuse'
  | 'allow'
  | ((error: KeystileError, request: AskedVerification) => boolean | Promise<boolean>);
export interface VerdictEvent {
  readonly verdict: Verdict;
  readonly request: AskedVerification;
  readonly durationMs: number;
}
export interface KeystileOptions {
  /** The address of the service, or several: the nearest first, the next when one fails. Default: KEYSTILE_URL. */
  readonly url?: string | readonly string[] | undefined;
  /** Needed by everything but `verify`. Default: KEYSTILE_ROOT_KEY. */
  readonly rootKey?: string | undefined;
  /** For one try, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /** For all tries of one call, in milliseconds. */
  readonly totalTimeoutMs?: number | undefined;
  /** How often a call is tried again, where that is safe. */
  readonly retries?: number | undefined;
  /** False: each verification is a call of its own. */
  readonly batch?: boolean | undefined;
  /** Whether a request passes when Keystile cannot be asked. A request that Keystile refuses to read never passes. */
  readonly onUnavailable?: UnavailablePolicy | undefined;
  /** Called with every verdict, for logs and metrics. What it throws is ignored. */
  readonly onVerdict?: ((event: VerdictEvent) => void) | undefined;
  /** Sends the requests. Default: the runtime's own. */
  readonly fetch?: Fetch | undefined;
}
/** The client of one Keystile service. Make one and keep it. */
export declare class Keystile implements Groups {
  #private;
  readonly apis: Groups['apis'];
  readonly keys: Groups['keys'];
  readonly identities: Groups['identities'];
  readonly plans: Groups['plans'];
  readonly credits: Groups['credits'];
  readonly reservations: Groups['reservations'];
  readonly permissions: Groups['permissions'];
  readonly migrations: Groups['migrations'];
  readonly rootKeys: Groups['rootKeys'];
  readonly portal: Groups['portal'];
  readonly sessions: Groups['sessions'];
  readonly audit: Groups['audit'];
  readonly events: Groups['events'];
  readonly webhooks: Groups['webhooks'];
  readonly ratelimits: Groups['ratelimits'];
  readonly analytics: Groups['analytics'];
  readonly usage: Groups['usage'];
  readonly service: Groups['service'];
  constructor(options?: KeystileOptions);
  /**
   * May this request pass? Never throws: when there is no verdict, `code` is `UNAVAILABLE`, `cause` says why, and `onUnavailable` decides.
   */
  verify(key: string, options?: VerifyOptions): Promise<Verdict>;
  /**
   * Verifies a key and holds the credits that the call may cost. Settle it with the real cost, and close it in `finally`: it is released
   * when it was not settled.
   * Never throws, as `verify`. Settling and releasing need a root key with the right to verify.
   */
  reserve(key: string, options: ReserveOptions): Promise<HeldReservation>;
  /** Calls an endpoint by its path, for example one that is newer than this version. */
  call(path: string, body: unknown, options?: CallOptions): Promise<unknown>;
}
