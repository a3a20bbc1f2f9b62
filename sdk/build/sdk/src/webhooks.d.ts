import type { Event } from './generated/api.ts';
/** The request of a webhook is not to be trusted. `reason` says why, for your log. */
export declare class WebhookError extends Error {
  readonly name = 'WebhookError';
  readonly reason: WebhookErrorReason;
  constructor(reason: WebhookErrorReason);
}
declare const REASONS: {
  readonly secret: 'The secret of a webhook begins with whsec_ and goes on in base64.';
  readonly headers: 'A header is missing: webhook-id, webhook-timestamp or webhook-signature.';
  readonly timestamp: 'The webhook-timestamp is too old or too far ahead. Compare the clocks of both machines.';
  readonly signature: 'No signature fits: the request was made without this secret, or was changed on its way.';
  readonly body: 'The signature fits, but the body is no event.';
};
export type WebhookErrorReason = keyof typeof REASONS;
/** Headers as `fetch` has them, or as Node.js has them. */
export type WebhookHeaders =
  | {
      get(name: string): string | null;
    }
  | Readonly<Record<string, string | readonly string[] | undefined>>;
export interface VerifyWebhookOptions {
  /** How far the time of the request may be from now, in milliseconds. Default: 5 minutes. */
  readonly toleranceMs?: number | undefined;
  /** The time now, in unix milliseconds. */
  readonly nowMs?: number | undefined;
}
/**
 * The event of a request that a webhook has sent. Throws a `WebhookError` when the request does not come from your Keystile. `body` is the
 * body as it was received, before any parsing. An event can arrive more than once: `id` tells.
 */
export declare function verifyWebhook(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  options?: VerifyWebhookOptions,
): Promise<Event>;
export {};
