/** The request of a webhook is not to be trusted. `reason` says why, for your log. */
export class WebhookError extends Error {
  name = 'WebhookError';
  reason;
  constructor(reason) {
    super(REASONS[reason]);
    this.reason = reason;
  }
}
const REASONS = {
  secret: 'The secret of a webhook begins with whsec_ and goes on in base64.',
  headers: 'A header is missing: webhook-id, webhook-timestamp or webhook-signature.',
  timestamp: 'The webhook-timestamp is too old or too far ahead. Compare the clocks of both machines.',
  signature: 'No signature fits: the request was made without this secret, or was changed on its way.',
  body: 'The signature fits, but the body is no event.',
};
const SECRET_PREFIX = 'whsec_';
const TOLERANCE_MS = 5 * 60_000;
/**
 * The event of a request that a webhook has sent. Throws a `WebhookError` when the request does not come from your Keystile. `body` is the
 * body as it was received, before any parsing. An event can arrive more than once: `id` tells.
 */
export async function verifyWebhook(body, headers, secret, options = {}) {
  const { toleranceMs = TOLERANCE_MS, nowMs = Date.now() } = options;
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    headerOf(headers, name),
  );
  if (!id || !timestamp || !signatures) throw new WebhookError('headers');
  const seconds = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : NaN;
  if (!(Math.abs(nowMs - seconds * 1000) <= toleranceMs)) throw new WebhookError('timestamp');
  const text = typeof body === 'string' ? body : new TextDecoder('utf-8', { ignoreBOM: true }).decode(body);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  const keys = await Promise.all((typeof secret === 'string' ? [secret] : secret).map(importKey));
  if (!(await fitsAny(keys, signatures, signed))) throw new WebhookError('signature');
  const event = parse(text);
  if (event === null) throw new WebhookError('body');
  return event;
}
/** While a secret is rotated, a request has a signature for each. The comparison is that of the platform, in constant time. */
async function fitsAny(keys, signatures, signed) {
  for (const signature of signatures.split(' ')) {
    const bytes = signature.startsWith('v1,') ? fromBase64(signature.slice('v1,'.length)) : null;
    if (bytes === null) continue;
    for (const key of keys) if (await crypto.subtle.verify('HMAC', key, bytes, signed)) return true;
  }
  return false;
}
function importKey(secret) {
  const bytes = secret.startsWith(SECRET_PREFIX) ? fromBase64(secret.slice(SECRET_PREFIX.length)) : null;
  if (bytes === null || bytes.length === 0) return Promise.reject(new WebhookError('secret'));
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}
function headerOf(headers, name) {
  if (typeof headers.get === 'function') return headers.get(name);
  const value = headers[name];
  return typeof value === 'string' ? value : null;
}
function fromBase64(text) {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}
function parse(text) {
  try {
    const value = JSON.parse(text);
    return typeof value?.id === 'string' && typeof value.type === 'string' ? value : null;
  } catch {
    return null;
  }
}
