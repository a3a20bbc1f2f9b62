import type { Verdict } from './verdict.ts';
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
/** The answer to a refused request; null: the request passes. */
export declare function refusalOf(verdict: Verdict): RefusalResponse | null;
/** RateLimit-Policy and RateLimit (IETF httpapi draft) of the limit that refused or else the first; Retry-After when it refused. */
export declare function ratelimitHeaders(verdict: Verdict): Record<string, string>;
