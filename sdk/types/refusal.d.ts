import type { Verdict } from './verdict.js';
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
/** The answer to a refused request; null: the request passes. */
export declare function refusalOf(verdict: Verdict): RefusalResponse | null;
/**
 * Headers of the IETF httpapi draft: RateLimit-Policy says what each limit grants, first the one that refused, and RateLimit what is left of
 * the first. Retry-After says when a limit that refused lets requests pass again.
 */
export declare function ratelimitHeaders(verdict: Verdict): Record<string, string>;
