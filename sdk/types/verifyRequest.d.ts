import type { VerifyRequest } from './generated/api.js';
/** What one verification asks for. Fields that the service has too are those of its schema. */
export interface VerifyOptions extends Pick<VerifyRequest, 'apiId' | 'tags' | 'ratelimits' | 'clientIp'> {
  /** Credits to take; 1 if absent, 0 takes none. */
  readonly cost?: number | undefined;
  /** A permission, or several of which all (`and`) or one (`or`) must be held. */
  readonly permissions?: NonNullable<VerifyRequest['authorization']>['permissions'];
  /**
   * Sends an idempotency key, so that a verification whose answer was lost is tried again and charged once. A key has at most 10,000 of
   * them at a time: use it for what must not be lost, not for every call.
   */
  readonly idempotent?: boolean | undefined;
  /** The idempotency key to send, when the caller repeats a call by itself. */
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}
/** The options as the service reads them. */
export declare function toWire(key: string, options: VerifyOptions): VerifyRequest;
/** Not `randomUUID`, which pages have over https only. */
export declare function newIdempotencyKey(): string;
