export type { CallOptions } from './call.js';
export { type ErrorCode, type Issue, KeystileError } from './errors.js';
export type * from './generated/api.js';
export { HeldReservation, type ReserveOptions, type SettleOptions } from './heldReservation.js';
export {
  type AskedVerification,
  Keystile,
  type KeystileOptions,
  type UnavailablePolicy,
  type VerdictEvent,
} from './keystile.js';
export type {
  KeyState,
  Refusal,
  RefusalCode,
  UnavailableVerdict,
  UnknownRefusal,
  ValidVerdict,
  Verdict,
} from './verdict.js';
export type { VerifyOptions } from './verifyRequest.js';
export { ratelimitHeaders, refusalOf, type RefusalResponse } from './refusal.js';
export {
  verifyWebhook,
  type VerifyWebhookOptions,
  WebhookError,
  type WebhookErrorReason,
  type WebhookHeaders,
} from './webhooks.js';
