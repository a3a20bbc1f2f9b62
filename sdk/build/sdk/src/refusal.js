import { VERDICT_STATUS } from './generated/api.js';
/** A code newer than this version is a refusal. All others have the status that the service gives them. */
const STATUS = { ...VERDICT_STATUS, UNKNOWN: 403 };
const TITLE = { 401: 'Unauthorized', 403: 'Forbidden', 429: 'Too Many Requests', 503: 'Service Unavailable' };
const DETAIL = {
  NOT_FOUND: 'The API key is missing or unknown.',
  DISABLED: 'The API key is disabled.',
  EXPIRED: 'The API key has expired.',
  FORBIDDEN: 'The API key may not be used here.',
  INSUFFICIENT_PERMISSIONS: 'The API key lacks a permission that this request needs.',
  UNKNOWN: 'The API key was refused.',
  RATE_LIMITED: 'The API key has reached its rate limit.',
  USAGE_EXCEEDED: 'The API key has no credits left for this request.',
  UNAVAILABLE: 'The API key could not be checked. Try again later.',
};
/** The answer to a refused request; null: the request passes. */
export function refusalOf(verdict) {
  if (verdict.valid) return null;
  const status = STATUS[verdict.code];
  const requestId = verdict.code === 'UNAVAILABLE' ? verdict.cause.requestId : verdict.requestId;
  return {
    status,
    headers: {
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
      ...ratelimitHeaders(verdict),
      ...(status === 503 ? { 'retry-after': String(secondsOf(verdict)) } : {}),
    },
    body: {
      type: 'about:blank',
      title: TITLE[status],
      status,
      detail: DETAIL[verdict.code],
      code: verdict.code,
      ...(requestId ? { requestId } : {}),
    },
  };
}
/** RateLimit-Policy and RateLimit (IETF httpapi draft) of the limit that refused or else the first; Retry-After when it refused. */
export function ratelimitHeaders(verdict) {
  if (verdict.code === 'UNAVAILABLE') return {};
  const shown = shownLimit(verdict.ratelimits ?? []);
  if (shown === undefined) return {};
  // Both are times of the service: the clock of this machine may differ.
  const seconds = Math.max(0, Math.ceil((shown.reset - (verdict.answeredAt ?? Date.now())) / 1000));
  const name = JSON.stringify(shown.name.replaceAll(/[^\x20-\x7e]/g, '?'));
  return {
    'ratelimit-policy': `${name};q=${shown.limit}`,
    ratelimit: `${name};r=${shown.remaining};t=${seconds}`,
    ...(verdict.code === 'RATE_LIMITED' ? { 'retry-after': String(Math.max(1, seconds)) } : {}),
  };
}
function shownLimit(limits) {
  return limits.find(({ exceeded }) => exceeded) ?? limits[0];
}
function secondsOf(verdict) {
  const waitMs = verdict.code === 'UNAVAILABLE' ? (verdict.cause.retryAfterMs ?? 0) : 0;
  return Math.max(1, Math.ceil(waitMs / 1000));
}
