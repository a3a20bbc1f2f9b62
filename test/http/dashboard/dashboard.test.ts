import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';

import { TestService, type Answer } from '../../support/service.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ORIGIN = 'http://localhost:7878';
const ENDED = [401, 'UNAUTHORIZED'];

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: object;
}

const codeOf = (answer: Answer): unknown => [answer.status, answer.body.error?.code];

let service: TestService;

/** A request as a page of this service sends it, unless it says otherwise. */
const send = (path: string, { method = 'POST', headers = {}, body = {} }: Sent = {}): Promise<Answer> => {
  const { authorization, ...others } = headers;
  return service.call(path, method === 'GET' ? undefined : body, {
    method,
    headers: { host: 'localhost:7878', origin: ORIGIN, 'keystile-page': 'person', ...others },
    rootKey: authorization?.slice('Bearer '.length) ?? null,
  });
};

/** Signs in with a root key; answers the cookie. */
const signIn = async (rootKey = service.rootKey): Promise<string> => {
  const answer = await send('/dashboard/session', { headers: { authorization: `Bearer ${rootKey}` } });
  expect(answer.status).toBe(200);
  return (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
};

const list = (cookie: string, sent: Sent = {}): Promise<Answer> =>
  send('/v1/apis.listApis', { ...sent, headers: { cookie, ...sent.headers } });

beforeAll(async () => {
  service = await TestService.start({ settings: { KEYSTILE_DASHBOARD: 'on' } });
});

afterAll(() => service.close());

describe('a session', () => {
  let cookie: string;

  beforeEach(async () => {
    cookie = await signIn();
  });

  test('has a cookie that no script can read and no other site can send', async () => {
    const answer = await send('/dashboard/session', { headers: { authorization: `Bearer ${service.rootKey}` } });
    const flags = (answer.headers.get('set-cookie') ?? '').split('; ').slice(1);
    expect(flags).toEqual(['Path=/', `Max-Age=${(7 * DAY_MS) / 1000}`, 'HttpOnly', 'SameSite=Strict']);
    expect(answer.headers.get('set-cookie')).toStartWith('keystile_session_7878=session_');
    const behindTls = await send('/dashboard/session', {
      headers: { authorization: `Bearer ${service.rootKey}`, origin: 'https://localhost:7878' },
    });
    expect(behindTls.headers.get('set-cookie')).toEndWith('; Secure');
  });

  test('does what its root key may do, and is told in the audit log', async () => {
    const made = await send('/v1/apis.createApi', { headers: { cookie }, body: { name: 'by hand' } });
    const { apiId } = made.body;
    const { entries } = await service.ok('/v1/audit.listEntries', { target: apiId });
    expect(entries).toMatchObject([{ action: 'api.create', via: 'dashboard', actor: expect.stringMatching(/^rk_/) }]);
    const limited = await service.engine.rootKeys.create({ name: 'x', rights: ['api.*.read_api'], expiresAtMs: null });
    const own = await signIn(limited.secret);
    expect((await list(own)).status).toBe(200);
    expect(
      codeOf(await send('/v1/apis.createApi', { headers: { cookie: own }, body: { name: 'not allowed' } })),
    ).toEqual([403, 'INSUFFICIENT_PERMISSIONS']);
  });

  test('ends when it was not used for 12 hours, and not before', async () => {
    service.clock.advance(12 * HOUR_MS - 1);
    expect((await list(cookie)).status).toBe(200);
    service.clock.advance(12 * HOUR_MS - 1);
    expect((await list(cookie)).status).toBe(200);
    service.clock.advance(12 * HOUR_MS);
    expect(codeOf(await list(cookie))).toEqual(ENDED);
  });

  test('is not used by a page that nobody uses: it looks for news until the session ends', async () => {
    const idle = { headers: { 'keystile-page': 'idle' } };
    service.clock.advance(11 * HOUR_MS);
    expect((await list(cookie, idle)).status).toBe(200);
    service.clock.advance(HOUR_MS);
    expect(codeOf(await list(cookie, idle))).toEqual(ENDED);
  });

  test('counts only for pages of the dashboard, and not beside an Authorization header', async () => {
    const headers = { host: 'localhost:7878', origin: ORIGIN, cookie };
    const fromDocs = await service.call('/v1/apis.listApis', {}, { headers, rootKey: null });
    expect(codeOf(fromDocs)).toEqual(ENDED);
    const mistyped = { ...headers, 'keystile-page': 'person', authorization: 'Basic eDp5' };
    expect(codeOf(await service.call('/v1/apis.listApis', {}, { headers: mistyped, rootKey: null }))).toEqual(ENDED);
  });

  test('is not found where two cookies have its name: another service may have set one', async () => {
    expect(codeOf(await list(`${cookie}; keystile_session_7878=session_other`))).toEqual(ENDED);
    expect((await list(`a=b; ${cookie}; keystile_session=c`)).status).toBe(200);
  });

  test('is kept by no cache', async () => {
    expect((await list(cookie)).headers.get('cache-control')).toBe('no-store');
    const own = await send('/dashboard/session', { method: 'GET', headers: { cookie } });
    expect(own.headers.get('cache-control')).toBe('no-store');
  });

  test('that ends while it is looked up is not kept in memory', async () => {
    // Long enough ago that its use is saved.
    service.clock.advance(HOUR_MS);
    service.engine.memory.sessions.forget();
    const { records } = service.storage;
    const find = records.findSession.bind(records);
    let ended = 0;
    records.findSession = async (digest) => {
      const found = await find(digest);
      await service.ok('/v1/sessions.endSession', { sessionId: found?.session.id });
      ended++;
      return found;
    };
    expect((await list(cookie)).status).toBe(200);
    records.findSession = find;
    expect(ended).toBe(1);
    expect(codeOf(await list(cookie))).toEqual(ENDED);
  });

  test('ends when the same browser signs in again', async () => {
    const again = await send('/dashboard/session', { headers: { authorization: `Bearer ${service.rootKey}`, cookie } });
    expect(again.status).toBe(200);
    expect(codeOf(await list(cookie))).toEqual(ENDED);
  });

  test('ends after 7 days, however often it is used', async () => {
    for (let hours = 0; hours < 7 * 24 - 1; hours++) {
      service.clock.advance(HOUR_MS);
      expect((await list(cookie)).status).toBe(200);
    }
    service.clock.advance(HOUR_MS - 1);
    expect((await list(cookie)).status).toBe(200);
    service.clock.advance(1);
    expect(codeOf(await list(cookie))).toEqual(ENDED);
  });

  test('ends when somebody signs out, and the cookie goes', async () => {
    const answer = await send('/dashboard/signOut', { headers: { cookie } });
    expect(answer.headers.get('set-cookie')).toContain('=; Path=/; Max-Age=0;');
    expect(codeOf(await list(cookie))).toEqual(ENDED);
    expect((await send('/dashboard/signOut', { headers: { cookie } })).status).toBe(200);
  });

  test('ends with its root key: revoked, rotated without an overlap, or expired', async () => {
    const make = async (expiresAtMs: number | null = null) => {
      const made = await service.engine.rootKeys.create({ name: 'x', rights: ['*'], expiresAtMs });
      return { rootKeyId: made.rootKey.id, cookie: await signIn(made.secret) };
    };
    const [revoked, rotated, kept] = [await make(), await make(), await make()];
    const expiring = await make(service.clock.nowMs() + 1000);
    await service.ok('/v1/rootKeys.revokeRootKey', { rootKeyId: revoked.rootKeyId });
    await service.ok('/v1/rootKeys.rotateRootKey', { rootKeyId: rotated.rootKeyId, overlapMs: 0 });
    await service.ok('/v1/rootKeys.rotateRootKey', { rootKeyId: kept.rootKeyId, overlapMs: HOUR_MS });
    expect((await list(expiring.cookie)).status).toBe(200);
    service.clock.advance(1000);
    expect((await list(kept.cookie)).status).toBe(200);
    const messages = [];
    for (const ended of [revoked, rotated, expiring]) {
      const answer = await list(ended.cookie);
      expect(codeOf(answer)).toEqual(ENDED);
      messages.push(answer.body.error.message);
    }
    expect(messages).toEqual([
      'The session has ended. Sign in again.',
      'The session has ended. Sign in again.',
      'The root key of this session has expired. Sign in again.',
    ]);
  });

  test('ends on demand, and only sessions that have not ended are listed', async () => {
    const own = await send('/dashboard/session', { method: 'GET', headers: { cookie } });
    const { session } = own.body;
    const before = await service.ok('/v1/sessions.listSessions', {});
    expect(before.sessions[0]).toMatchObject({ id: session.sessionId });
    await service.ok('/v1/sessions.endSession', { sessionId: session.sessionId });
    expect(codeOf(await list(cookie))).toEqual(ENDED);
    const after = await service.ok('/v1/sessions.listSessions', {});
    expect(after.sessions.map(({ id }: { id: string }) => id)).not.toContain(session.sessionId);
    service.clock.advance(12 * HOUR_MS);
    expect(await service.ok('/v1/sessions.listSessions', {})).toEqual({ sessions: [] });
  });

  test('of one root key there are at most 50: one more ends the oldest', async () => {
    const { secret } = await service.engine.rootKeys.create({ name: 'x', rights: ['*'], expiresAtMs: null });
    const cookies: string[] = [];
    for (let i = 0; i < 51; i++) {
      service.clock.advance(1);
      cookies.push(await signIn(secret));
    }
    expect(codeOf(await list(cookies[0] ?? ''))).toEqual(ENDED);
    expect((await list(cookies[1] ?? '')).status).toBe(200);
    expect((await list(cookies[50] ?? '')).status).toBe(200);
  });

  test.each([
    ['a page of another origin', { origin: 'http://evil.test' }],
    ['another service on the same host', { origin: 'http://localhost:9999' }],
    ['a page that hides its origin', { origin: 'null' }],
    ['another site, as the browser says', { 'sec-fetch-site': 'cross-site' }],
    ['another service of the same site, as the browser says', { 'sec-fetch-site': 'same-site' }],
  ])('is refused to %s', async (_who, headers) => {
    const refused = [403, 'INSUFFICIENT_PERMISSIONS'];
    expect(codeOf(await list(cookie, { headers }))).toEqual(refused);
    expect(codeOf(await send('/dashboard/signOut', { headers: { cookie, ...headers } }))).toEqual(refused);
    expect((await list(cookie)).status).toBe(200);
  });

  test('changes nothing for a request that does not name its origin', async () => {
    const options = { headers: { host: 'localhost:7878', cookie, 'keystile-page': 'person' }, rootKey: null };
    expect((await service.call('/v1/apis.createApi', { name: 'x' }, options)).status).toBe(403);
  });
});

describe('signing in', () => {
  test('with a link works once, and for 10 minutes', async () => {
    const [rootKey] = await service.storage.records.listRootKeys();
    const take = async (token: string) => (await send('/dashboard/session', { body: { token } })).status;
    const [used, late] = [1, 2].map(() => service.engine.sessions.links.create(rootKey?.id ?? ''));
    expect([await take(used ?? ''), await take(used ?? '')]).toEqual([200, 401]);
    service.clock.advance(10 * 60_000);
    expect(await take(late ?? '')).toBe(401);
    const timely = service.engine.sessions.links.create(rootKey?.id ?? '');
    service.clock.advance(10 * 60_000 - 1);
    expect(await take(timely)).toBe(200);
    const { body } = await send('/dashboard/session', { body: { token: 'made up' } });
    expect(body.error.message).toBe(
      'This sign-in link was used before, or has expired. Sign in with a root key, or start the service again for a new link.',
    );
  });

  test('is refused to a secret that was replaced: its session would outlast it', async () => {
    const made = await service.engine.rootKeys.create({ name: 'x', rights: ['*'], expiresAtMs: null });
    await service.ok('/v1/rootKeys.rotateRootKey', { rootKeyId: made.rootKey.id, overlapMs: HOUR_MS });
    const { status, body } = await send('/dashboard/session', { headers: { authorization: `Bearer ${made.secret}` } });
    expect([status, body.error.message]).toEqual([401, 'This root key was rotated. Sign in with its new secret.']);
  });

  test('is refused when the root key changes at the same time', async () => {
    const { rootKey } = await service.engine.rootKeys.create({ name: 'x', rights: ['*'], expiresAtMs: null });
    await service.engine.rootKeys.revoke(rootKey.id);
    const actor = { id: rootKey.id, rights: ['*'], untilMs: null, origin: null, requestId: null };
    const late = service.engine.sessions.admin
      .signIn(rootKey, actor, { browser: null, by: 'root key', formerSecret: null })
      .catch((error: unknown) => (error as Error).message);
    expect(await late).toBe('The root key was changed at the same time. Sign in again.');
  });

  test('is refused without a root key, with a wrong body, and to other origins', async () => {
    expect(codeOf(await send('/dashboard/session'))).toEqual([401, 'UNAUTHORIZED']);
    const authorization = `Bearer ${service.rootKey}`;
    const wrong = await send('/dashboard/session', { headers: { authorization }, body: { tokens: 1 } });
    expect(wrong.body.error).toMatchObject({
      message: 'Send {} with a root key, or {"token": "..."}.',
    });
    const elsewhere = await send('/dashboard/session', { headers: { authorization, origin: 'http://evil.test' } });
    expect(elsewhere.body.error).toMatchObject({
      message: 'A session can only be used by pages of this service.',
    });
  });

  test('tells nobody of a session that is not theirs: without a cookie, nobody is signed in', async () => {
    const answer = await send('/dashboard/session', { method: 'GET' });
    expect(answer.body).toEqual({ session: null });
  });
});

test('where verifying needs a root key, a session may do it as well', async () => {
  const strict = await TestService.start({ settings: { KEYSTILE_VERIFY_AUTH: 'required' } });
  const { key } = await strict.createKey({});
  const headers = { host: 'localhost:7878', origin: ORIGIN };
  const signed = await strict.call('/dashboard/session', {}, { headers });
  const cookie = (signed.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const page = { ...headers, cookie, 'keystile-page': 'person' };
  const verify = (sent: Record<string, string>) =>
    strict.call('/v1/keys.verifyKey', { key }, { headers: sent, rootKey: null });
  expect((await verify(page)).body).toMatchObject({ valid: true });
  expect((await verify({ ...headers, cookie })).status).toBe(401);
  await strict.close();
});

describe('where the dashboard is off', () => {
  test('there is no page, no sign-in, and a cookie counts for nothing', async () => {
    const off = await TestService.start({ settings: { KEYSTILE_DASHBOARD: 'off' } });
    const at = (path: string, headers = {}) => off.call(path, undefined, { method: 'GET', headers, rootKey: null });
    for (const path of ['/dashboard', '/dashboard/keys', '/dashboard/session'])
      expect((await at(path)).status).toBe(404);
    const [rootKey] = await off.storage.records.listRootKeys();
    if (rootKey === undefined) throw new Error('no root key');
    const { secret } = await off.engine.sessions.admin.signIn(
      rootKey,
      { id: rootKey.id, rights: ['*'], untilMs: null, origin: null, requestId: null },
      { browser: null, by: 'root key', formerSecret: null },
    );
    const cookie = `keystile_session_7878=${secret}`;
    const headers = { cookie, origin: ORIGIN, host: 'localhost:7878', 'keystile-page': 'person' };
    expect((await at('/v1/apis.listApis', headers)).status).toBe(401);
    await off.close();
  });
});

test('every page has a strict policy, and every file that it loads is there', async () => {
  const page = await send('/dashboard/customers/acme', { method: 'GET' });
  expect(page.headers.get('content-security-policy')).toBe(
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'; img-src 'self' data:",
  );
  const { text } = page;
  const files = [...text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path ?? '');
  expect(files.splice(files.indexOf('/favicon.ico'), 1)).toEqual(['/favicon.ico']);
  // The customers' page has no icon of Keystile.
  expect((await send('/portal', { method: 'GET' })).text).toContain('<link rel="icon" href="data:,">');
  expect(files.filter((path) => path.endsWith('.js')).length).toBe(1);
  expect(files.filter((path) => path.endsWith('.css')).length).toBeGreaterThan(0);
  const bytes: number[] = [];
  for (const path of files) {
    const file = await send(path, { method: 'GET' });
    expect([file.status, file.headers.get('content-encoding')]).toEqual([200, 'gzip']);
    bytes.push(Number(file.headers.get('content-length')));
  }
  // Compressed, for the first page.
  expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThan(150_000);
  const missing = await send('/assets/no-such-file.js', { method: 'GET' });
  expect([missing.status, missing.body.error.message]).toEqual([404, 'There is no such file. Reload the page.']);
  expect(text).not.toMatch(/<script>| style=| on\w+=/);
});
