import { expect } from 'bun:test';

import type { Answer, TestService } from '../../support/service.ts';

export const ORIGIN = 'http://keys.test:7878';
export const MINUTE_MS = 60_000;
export const ENDED = [401, 'UNAUTHORIZED'];
export const ALL = ['create', 'rotate', 'delete'];
export const SETTINGS = {
  KEYSTILE_PUBLIC_URL: ORIGIN,
  KEYSTILE_PORTAL_RETURN_ORIGINS: 'https://app.example.com',
};

export const codeOf = ({ status, body }: Answer): unknown => [status, body.error?.code];

/** The calls of the customers' page. `apiId`: the api that its links are for. */
export function portalCalls(service: () => TestService, apiId: () => string) {
  /** A request as the page sends it, unless it says otherwise. */
  const send = (path: string, body: object | null = {}, headers: Record<string, string> = {}): Promise<Answer> =>
    service().call(`/portal/${path}`, body ?? undefined, {
      method: body === null ? 'GET' : 'POST',
      headers: { host: 'keys.test:7878', origin: ORIGIN, 'keystile-page': 'person', ...headers },
      rootKey: null,
    });

  /** The token of a new link for the customer acme. */
  const link = async (fields: object = {}, rootKey = service().rootKey): Promise<string> => {
    const body = { externalId: 'acme', apiId: apiId(), ...fields };
    const made = await service().ok('/v1/portal.createSession', body, { rootKey });
    const [page, token] = (made.url as string).split('#open=');
    expect(page).toBe(`${ORIGIN}/portal`);
    return token ?? '';
  };

  /** Opens a link; answers the calls of its page. */
  const open = async (fields: object = {}, rootKey?: string) => {
    const answer = await send('session', { token: await link(fields, rootKey) });
    expect(answer.status).toBe(200);
    const cookie = (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const call = (path: string, body: object | null = {}, headers = {}): Promise<Answer> =>
      send(path, body, { cookie, ...headers });
    return { answer, cookie, call };
  };
  return { send, link, open };
}
