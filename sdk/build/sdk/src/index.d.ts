export type { CallOptions } from './call.ts';
export { type ErrorCode, type Issue, KeystileError } from './errors.ts';
export type * from './generated/api.ts';
export { HeldReservation, type ReserveOptions, type SettleOptions } from './heldReservation.ts';
export {
  type AskedVerification,
  Keystile,
  type KeystileOptions,
  type UnavailablePolicy,
  type VerdictEvent,
} from './keystile.ts';
export type {
  KeyState,
  Refusal,
  RefusalCode,
  UnavailableVerdict,
  UnknownRefusal,
  ValidVerdict,
  Verdict,
} from './verdict.ts';
export type { VerifyOptions } from './verifyRequest.ts';
export { ratelimitHeaders, refusalOf, type RefusalResponse } from './refusal.ts';
export {
  verifyWebhook,
  type VerifyWebhookOptions,
  WebhookError,
  type WebhookErrorReason,
  type WebhookHeaders,
} from './webhooks.ts';
