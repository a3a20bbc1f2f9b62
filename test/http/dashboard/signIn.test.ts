import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { codeOf, HOUR_MS, ORIGIN, pageCalls } from './pageCalls.ts';

let service: TestService;
const { send } = pageCalls(() => service);

beforeAll(async () => {
  service = await TestService.start({ settings: { KEYSTILE_DASHBOARD: 'on' } });
});

afterAll(() => service.close());

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
