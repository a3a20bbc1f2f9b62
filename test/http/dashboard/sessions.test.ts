import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { codeOf, DAY_MS, ENDED, HOUR_MS, ORIGIN, pageCalls } from './pageCalls.ts';

let service: TestService;
const { list, send, signIn } = pageCalls(() => service);

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
