import type { ReserveRequest, VerifyRequest } from './generated/api.ts';
import { type Transport } from './transport.ts';
import { type Verdict } from './verdict.ts';
/**
 * Asks for verdicts. Verifications of one turn of the event loop share one call, each with its own verdict or error. There is no timer:
 * the call is sent when the turn ends.
 */
export declare class Verifications {
  #private;
  constructor(transport: Transport, isShared: boolean);
  /** Throws a KeystileError when there is no verdict. */
  ask(request: VerifyRequest, signal: AbortSignal | undefined): Promise<Verdict>;
  /** Reservations are asked for one by one. */
  askToReserve(body: ReserveRequest, signal: AbortSignal | undefined): Promise<Verdict>;
}
