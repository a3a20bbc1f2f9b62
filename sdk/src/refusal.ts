import type { NamedRatelimitResult } from './generated/api.ts';
import { MAX_SHOWN_POLICIES, VERDICT_STATUS, VERDICT_TOLD } from './generated/values.ts';
import type { KeyState, Verdict } from './verdict.ts';

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
    /** Whether the same request can pass later, when nothing but time has changed. Clients that repeat every 429 should read it. */
    readonly retryable: boolean;
  };
}

type RefusedCode = Exclude<Verdict['code'], 'VALID'>;

/** A code newer than this version is a refusal. All others have the status that the service gives them. */
const STATUS: Readonly<Record<RefusedCode, RefusalResponse['status']>> = { ...VERDICT_STATUS, UNKNOWN: 403 };

const TITLE = { 401: 'Unauthorized', 403: 'Forbidden', 429: 'Too Many Requests', 503: 'Service Unavailable' } as const;

const DETAIL: Readonly<Record<RefusedCode, string>> = {
  ...VERDICT_TOLD,
  UNKNOWN: 'The API key was refused.',
  UNAVAILABLE: 'The API key could not be checked. Try again later.',
};

/** The answer to a refused request; null: the request passes. */
export function refusalOf(verdict: Verdict): RefusalResponse | null {
  if (verdict.valid) return null;
  const status = STATUS[verdict.code];
  const requestId = verdict.code === 'UNAVAILABLE' ? verdict.cause.requestId : verdict.requestId;
  const seconds = retryAfter(verdict);
  const retryable = seconds !== null;
  return {
    status,
    headers: {
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      ...(status === 401 ? { 'www-authenticate': 'Bearer' } : {}),
      ...ratelimitHeaders(verdict),
      ...(retryable ? { 'retry-after': String(seconds) } : {}),
      'keystile-retryable': String(retryable),
    },
    body: {
      type: 'about:blank',
      title: TITLE[status],
      status,
      detail: DETAIL[verdict.code],
      code: verdict.code,
      ...(requestId ? { requestId } : {}),
      retryable,
    },
  };
}

/**
 * Headers of the IETF httpapi draft: RateLimit-Policy says what each limit grants, first the one that refused, and RateLimit what is left of
 * the first. Retry-After says when a limit that refused lets requests pass again.
 */
export function ratelimitHeaders(verdict: Verdict): Record<string, string> {
  const shown = shownLimit(verdict);
  if (shown === undefined || verdict.code === 'UNAVAILABLE') return {};
  const others = (verdict.ratelimits ?? []).filter((limit) => limit !== shown).slice(0, MAX_SHOWN_POLICIES - 1);
  const seconds = secondsUntil(shown.reset, verdict);
  return {
    'ratelimit-policy': [shown, ...others].map(policyOf).join(', '),
    ratelimit: `${quoted(shown.name)};r=${shown.remaining};t=${seconds}`,
    ...(verdict.code === 'RATE_LIMITED' ? { 'retry-after': String(Math.max(1, seconds)) } : {}),
  };
}

/** A service that is older than this SDK does not say the window. */
function policyOf({ name, limit, duration }: NamedRatelimitResult): string {
  const window = (duration as number | undefined) === undefined ? '' : `;w=${Math.ceil(duration / 1000)}`;
  return `${quoted(name)};q=${limit}${window}`;
}

/** A structured header is ASCII only: other characters are replaced. */
function quoted(name: string): string {
  return JSON.stringify(name.replaceAll(/[^\x20-\x7e]/g, '?'));
}

function shownLimit(verdict: Verdict): NamedRatelimitResult | undefined {
  const limits = verdict.code === 'UNAVAILABLE' ? [] : (verdict.ratelimits ?? []);
  return limits.find(({ exceeded }) => exceeded) ?? limits[0];
}

/** The seconds after which the same request can pass; null: it is not known that waiting helps. */
function retryAfter(verdict: Verdict): number | null {
  if (verdict.code === 'UNAVAILABLE') return Math.max(1, Math.ceil((verdict.cause.retryAfterMs ?? 0) / 1000));
  const shown = verdict.code === 'RATE_LIMITED' ? shownLimit(verdict)?.reset : verdict.nextRefillAt;
  if (shown === undefined) return verdict.code === 'RATE_LIMITED' ? 1 : null;
  return Math.max(1, secondsUntil(shown, verdict));
}

/** Both are times of the service: the clock of this machine may differ. */
function secondsUntil(unixMs: number, { answeredAt = Date.now() }: KeyState): number {
  return Math.max(0, Math.ceil((unixMs - answeredAt) / 1000));
}
