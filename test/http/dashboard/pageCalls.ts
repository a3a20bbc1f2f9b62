import { expect } from 'bun:test';

import type { Answer, TestService } from '../../support/service.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
export const ORIGIN = 'http://localhost:7878';
export const ENDED = [401, 'UNAUTHORIZED'];

export interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: object;
}

export const codeOf = (answer: Answer): unknown => [answer.status, answer.body.error?.code];

/** The calls of a page of the dashboard. */
export function pageCalls(service: () => TestService) {
  /** A request as a page of this service sends it, unless it says otherwise. */
  const send = (path: string, { method = 'POST', headers = {}, body = {} }: Sent = {}): Promise<Answer> => {
    const { authorization, ...others } = headers;
    return service().call(path, method === 'GET' ? undefined : body, {
      method,
      headers: { host: 'localhost:7878', origin: ORIGIN, 'keystile-page': 'person', ...others },
      rootKey: authorization?.slice('Bearer '.length) ?? null,
    });
  };
  /** Signs in with a root key; answers the cookie. */
  const signIn = async (rootKey = service().rootKey): Promise<string> => {
    const answer = await send('/dashboard/session', { headers: { authorization: `Bearer ${rootKey}` } });
    expect(answer.status).toBe(200);
    return (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  };
  const list = (cookie: string, sent: Sent = {}): Promise<Answer> =>
    send('/v1/apis.listApis', { ...sent, headers: { cookie, ...sent.headers } });
  return { send, signIn, list };
}
