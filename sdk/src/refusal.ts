import type { RatelimitState, Verdict } from './verdict.ts';

/** What a refused request is answered, over any framework. */
export interface RefusalResponse {
  readonly status: 401 | 403 | 429 | 503;
  readonly headers: Readonly<Record<string, string>>;
  /** RFC 9457. */
  readonly body: {
    readonly type: 'about:blank';
    readonly title: string;
    readonly status: number;
    readonly detail: string;
    readonly code: Verdict['code'];
    readonly requestId?: string;
  };
}

type Row = readonly [status: RefusalResponse['status'], title: string, detail: string];

/** The one table from a verdict to HTTP. A code newer than this version is a refusal. */
const TABLE: Readonly<Record<Exclude<Verdict['code'], 'VALID'>, Row>> = {
  NOT_FOUND: [401, 'Unauthorized', 'The API key is missing or unknown.'],
  DISABLED: [401, 'Unauthorized', 'The API key is disabled.'],
  EXPIRED: [401, 'Unauthorized', 'The API key has expired.'],
  FORBIDDEN: [403, 'Forbidden', 'The API key may not be used here.'],
  INSUFFICIENT_PERMISSIONS: [403, 'Forbidden', 'The API key lacks a permission that this request needs.'],
  UNKNOWN: [403, 'Forbidden', 'The API key was refused.'],
  RATE_LIMITED: [429, 'Too Many Requests', 'The API key has reached its rate limit.'],
  USAGE_EXCEEDED: [429, 'Too Many Requests', 'The API key has no credits left for this request.'],
  UNAVAILABLE: [503, 'Service Unavailable', 'The API key could not be checked. Try again later.'],
};

/** The answer to a refused request; null: the request passes. */
export function refusalOf(verdict: Verdict, nowMs = Date.now()): RefusalResponse | null {
  if (verdict.valid) return null;
  const [status, title, detail] = TABLE[verdict.code];
  const requestId = verdict.code === 'UNAVAILABLE' ? verdict.cause.requestId : verdict.requestId;
  return {
    status,
    headers: {
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
      ...ratelimitHeaders(verdict, nowMs),
      ...(status === 503 ? { 'retry-after': String(secondsOf(verdict)) } : {}),
    },
    body: { type: 'about:blank', title, status, detail, code: verdict.code, ...(requestId ? { requestId } : {}) },
  };
}

/** RateLimit-Policy and RateLimit (IETF httpapi draft) of the limit that refused or else the first; Retry-After when it refused. */
export function ratelimitHeaders(verdict: Verdict, nowMs = Date.now()): Record<string, string> {
  const shown = verdict.code === 'UNAVAILABLE' ? undefined : shownLimit(verdict.ratelimits ?? []);
  if (shown === undefined) return {};
  const seconds = Math.max(0, Math.ceil((shown.reset - nowMs) / 1000));
  const name = JSON.stringify(shown.name.replaceAll(/[^\x20-\x7e]/g, '?'));
  return {
    'ratelimit-policy': `${name};q=${shown.limit}`,
    ratelimit: `${name};r=${shown.remaining};t=${seconds}`,
    ...(verdict.code === 'RATE_LIMITED' ? { 'retry-after': String(Math.max(1, seconds)) } : {}),
  };
}

function shownLimit(limits: readonly RatelimitState[]): RatelimitState | undefined {
  return limits.find(({ exceeded }) => exceeded) ?? limits[0];
}

function secondsOf(verdict: Verdict): number {
  const waitMs = verdict.code === 'UNAVAILABLE' ? (verdict.cause.retryAfterMs ?? 0) : 0;
  return Math.max(1, Math.ceil(waitMs / 1000));
}
