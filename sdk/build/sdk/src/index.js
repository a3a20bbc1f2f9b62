export { KeystileError } from './errors.js';
export { HeldReservation } from './heldReservation.js';
export { Keystile } from './keystile.js';
export { ratelimitHeaders, refusalOf } from './refusal.js';
export { verifyWebhook, WebhookError } from './webhooks.js';
