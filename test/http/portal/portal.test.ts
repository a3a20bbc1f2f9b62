import { beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { reuseService } from '../../support/reusedService.ts';
import { TestService, type Answer } from '../../support/service.ts';

const ORIGIN = 'http://keys.test:7878';
const MINUTE_MS = 60_000;
const ENDED = [401, 'UNAUTHORIZED'];
const ALL = ['create', 'rotate', 'delete'];
const SETTINGS = {
  KEYSTILE_PUBLIC_URL: ORIGIN,
  KEYSTILE_PORTAL_RETURN_ORIGINS: 'https://app.example.com',
};

const codeOf = ({ status, body }: Answer): unknown => [status, body.error?.code];

let service: TestService;
let apiId: string;

const started = reuseService({ settings: SETTINGS });
beforeEach(async () => {
  service = started();
  apiId = (await service.ok('/v1/apis.createApi', { name: 'shop' })).apiId as string;
  await service.ok('/v1/identities.createIdentity', {
    externalId: 'acme',
    name: 'Acme',
    meta: { note: 'secret note' },
  });
});

/** A request as the page sends it, unless it says otherwise. */
const send = (path: string, body: object | null = {}, headers: Record<string, string> = {}): Promise<Answer> =>
  service.call(`/portal/${path}`, body ?? undefined, {
    method: body === null ? 'GET' : 'POST',
    headers: { host: 'keys.test:7878', origin: ORIGIN, 'keystile-page': 'person', ...headers },
    rootKey: null,
  });

/** The token of a new link for the customer acme. */
const link = async (fields: object = {}, rootKey = service.rootKey): Promise<string> => {
  const body = { externalId: 'acme', apiId, ...fields };
  const made = await service.ok('/v1/portal.createSession', body, { rootKey });
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

describe('the page', () => {
  test('shows the keys, the plan and the usage of its customer, and no notes of the provider', async () => {
    const plan = { name: 'Pro', remaining: 100, ratelimits: [{ name: 'all', limit: 10, duration: 1000, async: true }] };
    const { planId } = await service.ok('/v1/plans.createPlan', plan);
    await service.ok('/v1/plans.assign', { externalId: 'acme', planId });
    const made = await service.createKey({ apiId, externalId: 'acme', name: 'server', meta: { note: 'secret note' } });
    expect((await service.verify(made.key)).valid).toBe(true);
    const { answer, call } = await open();
    expect(answer.body.visit).toMatchObject({
      plan: { name: 'Pro', ratelimits: [{ name: 'all', limit: 10 }] },
      customer: { remaining: 99, keys: 1 },
    });
    const { body } = await call('listKeys');
    expect(body).toEqual({
      keys: [
        {
          id: made.keyId,
          start: made.key.slice(0, body.keys[0].start.length),
          name: 'server',
          createdAt: service.clock.nowMs(),
          enabled: true,
        },
      ],
      total: 1,
    });
    const usage = await call('getUsage');
    expect(usage.body.days.at(-1)).toMatchObject({ valid: 1, credits: 1 });
    expect(JSON.stringify([answer.body, body, usage.body])).not.toContain('note');
  });

  test('creates, rotates and deletes as the link allows, and says who did it', async () => {
    const keyDefaults = { prefix: 'live', remaining: 5, ratelimit: { async: false, limit: 3, duration: 1000 } };
    const { call } = await open({ allow: ALL, keyDefaults });
    const { keyId, key } = (await call('createKey', { name: 'laptop' })).body;
    expect(key).toStartWith('live_');
    expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 4, ownerId: 'acme', name: 'laptop' });
    const rotated = (await call('rotateKey', { keyId, overlapMs: 0 })).body.key as string;
    expect((await service.verify(key)).code).toBe('NOT_FOUND');
    expect((await service.verify(rotated)).code).toBe('VALID');
    expect((await call('deleteKey', { keyId })).status).toBe(200);
    expect((await service.verify(rotated)).code).toBe('NOT_FOUND');
    const { entries } = await service.ok('/v1/audit.listEntries', { limit: 10 });
    expect(entries.map(({ action, via }: { action: string; via?: string }) => [action, via])).toEqual([
      ['key.delete', 'portal'],
      ['key.rotate', 'portal'],
      ['key.create', 'portal'],
      ['portal.openSession', 'portal'],
      ['portal.createSession', undefined],
      ...entries.slice(5).map(({ action }: { action: string }) => [action, undefined]),
    ]);
  });

  test('refuses what the link does not allow, and loses nothing', async () => {
    const { keyId, key } = await service.createKey({ apiId, externalId: 'acme' });
    const { call } = await open();
    for (const [path, body, message] of [
      ['createKey', {}, 'You may not create keys here.'],
      ['rotateKey', { keyId, overlapMs: 0 }, 'You may not rotate keys here.'],
      ['deleteKey', { keyId }, 'You may not delete keys here.'],
    ] as const) {
      const answer = await call(path, body);
      expect([answer.status, answer.body.error.message]).toEqual([403, message]);
    }
    expect((await service.verify(key)).valid).toBe(true);
  });

  test('respects how many keys the customer may have', async () => {
    await service.ok('/v1/identities.updateIdentity', { externalId: 'acme', maxKeys: 1 });
    const { call } = await open({ allow: ['create'] });
    expect((await call('createKey')).status).toBe(200);
    const { status, body } = await call('createKey');
    expect([status, body.error.message]).toEqual([
      412,
      'A limit was reached, for example the number of your keys. Ask the provider of this API.',
    ]);
  });

  test('a customer changes keys at most 100 times in two days, with as many links as it likes', async () => {
    let { call } = await open({ allow: ['create', 'delete'] });
    for (let i = 0; i < 50; i++) {
      if (i === 25) ({ call } = await open({ allow: ['create', 'delete'] }));
      const { keyId } = (await call('createKey')).body;
      expect((await call('deleteKey', { keyId })).status).toBe(200);
    }
    const refused = await call('createKey');
    expect([refused.status, refused.body.error.message]).toEqual([
      429,
      'You have changed keys 100 times in two days, as often as you may. Try again tomorrow.',
    ]);
    expect((await call('listKeys')).body.keys).toEqual([]);
  });

  test('what the provider must know is not told to the customer', async () => {
    const lacking = ['identity.*.read_identity', 'api.*.read_key', 'api.*.read_api', 'api.*.create_key'];
    const permissions = [...lacking, 'rbac.*.add_role_to_key'];
    const { key } = await service.ok('/v1/rootKeys.createRootKey', { name: 'shop', permissions });
    // The role does not exist, and the root key may not create it.
    const { call } = await open({ allow: ['create'], keyDefaults: { roles: ['nobody-has-it'] } }, key as string);
    const { status, body } = await call('createKey');
    expect([status, body.error.message]).toEqual([
      403,
      'This cannot be done at the moment. Ask the provider of this API.',
    ]);
    expect(service.logLines.some((line) => line.includes('rbac.*.create_role'))).toBe(true);
  });

  test('no answer of the page speaks of root keys, rights or settings, whatever is wrong', async () => {
    const { call, cookie } = await open({ allow: ALL });
    const { keyId } = (await call('createKey')).body;
    await call('deleteKey', { keyId });
    await service.ok('/v1/identities.updateIdentity', { externalId: 'acme', maxKeys: 0 });
    const page = { cookie, host: 'keys.test:7878', 'keystile-page': 'person' };
    const answers = [
      await call('deleteKey', { keyId }),
      await call('rotateKey', { keyId, overlapMs: 0 }),
      await call('rotateKey', { keyId: 'key_1Jm8ZtYh4mRr6GjK8uTx3S', overlapMs: 0 }),
      await call('createKey'),
      await call('createKey', { name: 7 }),
      await call('listKeys', {}, { origin: 'https://evil.example' }),
      await send('listKeys', {}, { cookie: '' }),
      await send('session', { token: 'portal_unknown' }),
      await service.call('/portal/listKeys', {}, { headers: { ...page, origin: ORIGIN, cookie: 'x' }, rootKey: null }),
    ];
    for (const { status, text } of answers) {
      expect(status).toBeGreaterThanOrEqual(400);
      expect(text).not.toMatch(/root key|KEYSTILE_|maxKeys|api\.\*|identity/i);
    }
  });
});

describe('another customer', () => {
  test('is not there: by no id, no cursor, no field and no other api', async () => {
    await service.ok('/v1/identities.createIdentity', { externalId: 'rival', name: 'Rival' });
    const theirs = await service.createKey({ apiId, externalId: 'rival', name: 'rival key' });
    const elsewhere = await service.ok('/v1/apis.createApi', { name: 'other' });
    const ownElsewhere = await service.createKey({ apiId: elsewhere.apiId, externalId: 'acme' });
    const ownerless = await service.createKey({ apiId });
    const own = await service.createKey({ apiId, externalId: 'acme' });
    const { call } = await open({ allow: ALL });
    for (const { keyId, key } of [theirs, ownElsewhere, ownerless]) {
      for (const [path, body] of [
        ['rotateKey', { keyId, overlapMs: 0 }],
        ['deleteKey', { keyId }],
      ] as const) {
        const { status, body: told } = await call(path, body);
        expect([status, told.error.message]).toEqual([404, 'This key is not there any more. Load the page again.']);
      }
      expect((await service.verify(key)).valid).toBe(true);
      const page = (await call('listKeys', { cursor: keyId })).body;
      expect(page.keys.every(({ id }: { id: string }) => id === own.keyId)).toBe(true);
    }
    expect((await call('listKeys')).body.keys.map(({ id }: { id: string }) => id)).toEqual([own.keyId]);
    // No request names a customer, an api or a word to search for.
    for (const fields of [
      { externalId: 'rival' },
      { ownerId: 'rival' },
      { apiId: elsewhere.apiId },
      { search: 'rival' },
    ]) {
      for (const path of ['listKeys', 'getUsage', 'createKey']) expect((await call(path, fields)).status).toBe(400);
    }
    expect((await call('getUsage')).body.days.at(-1)).toMatchObject({ total: 0 });
    expect(JSON.stringify((await call('session', null)).body)).not.toContain('ival');
  });

  test('a session opens nothing else of the service, and no other session opens the page', async () => {
    const { cookie } = await open({ allow: ALL });
    const headers = { cookie, host: 'keys.test:7878', origin: ORIGIN, 'keystile-page': 'person' };
    for (const path of ['/v1/apis.listApis', '/v1/keys.createKey', '/dashboard/session']) {
      const answer = await service.call(path, {}, { headers, rootKey: null });
      expect([path, answer.status]).toEqual([path, 401]);
    }
    const signedIn = await service.call(
      '/dashboard/session',
      {},
      { headers: { host: 'keys.test:7878', origin: ORIGIN, 'keystile-page': 'person' } },
    );
    const [name, secret = ''] = (signedIn.headers.get('set-cookie') ?? '').split(';')[0]?.split('=') ?? [];
    expect(name).toBe('keystile_session_7878');
    expect(codeOf(await send('listKeys', {}, { cookie: `keystile_portal_7878=${secret}` }))).toEqual(ENDED);
    // The token of a link is no session either.
    expect(codeOf(await send('listKeys', {}, { cookie: `keystile_portal_7878=${await link()}` }))).toEqual(ENDED);
  });

  test('pages of other origins, and requests that are none of a page, are refused', async () => {
    const { call } = await open();
    expect((await call('listKeys', {}, { origin: 'https://evil.example.com' })).status).toBe(403);
    expect((await call('listKeys', {}, { 'sec-fetch-site': 'same-site' })).status).toBe(403);
    const token = await link();
    expect((await send('session', { token }, { origin: 'https://evil.example.com' })).status).toBe(403);
    expect((await send('session', { token })).status).toBe(200);
  });
});

test('the logo, the name and the colour are settings', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'keystile-logo-'));
  const logo = join(folder, 'logo.svg');
  writeFileSync(logo, '<svg xmlns="http://www.w3.org/2000/svg"/>');
  const settings = { KEYSTILE_PORTAL_NAME: 'Shop', KEYSTILE_PORTAL_COLOR: '#C0FFEE', KEYSTILE_PORTAL_LOGO: logo };
  const other = await TestService.start({ settings });
  const get = (path: string) =>
    other.call(`/portal/${path}`, undefined, { method: 'GET', rootKey: null, headers: { 'keystile-page': 'person' } });
  expect((await get('session')).body.look).toEqual({ name: 'Shop', color: '#c0ffee', hasLogo: true });
  const { status, headers, text } = await get('logo');
  expect([status, headers.get('content-type'), text]).toEqual([200, 'image/svg+xml', expect.stringContaining('<svg')]);
  // Opened by itself, it can run nothing.
  expect(headers.get('content-security-policy')).toContain('sandbox');
  writeFileSync(logo, 'x'.repeat(256 * 1024 + 1));
  expect((await get('logo')).status).toBe(404);
  expect(other.logLines.filter((line) => line.includes('KEYSTILE_PORTAL_LOGO')).length).toBe(1);
  await other.close();
  rmSync(folder, { recursive: true });
});

test('the page has a strict policy, the look that was set, and no logo without one', async () => {
  const { status, headers, text } = await service.call('/portal', undefined, { method: 'GET', rootKey: null });
  expect([status, headers.get('content-security-policy')]).toEqual([
    200,
    expect.stringContaining("default-src 'self'; base-uri 'none'"),
  ]);
  expect(text).toContain('/assets/portal-');
  expect((await send('session', null)).body).toEqual({
    look: { name: 'API keys', color: '#0b57d0', hasLogo: false },
    visit: null,
  });
  expect((await send('logo', null)).body.error.message).toBe('There is no logo.');
  expect((await send('listKeys')).body.error.message).toBe('Open the link that you were given.');
  const message = 'Send {"token": "..."}, with the token behind # of the link.';
  for (const body of [{}, { token: 1 }, { token: 'x'.repeat(1000) }, { token: 'portal_x', more: 1 }])
    expect((await send('session', body)).body.error.message).toBe(message);
});

describe('a link', () => {
  test('opens the page of its customer once', async () => {
    const token = await link({ returnUrl: 'https://app.example.com/settings' });
    const opened = await send('session', { token });
    expect(opened.body.visit).toEqual({
      customer: { externalId: 'acme', name: 'Acme', keys: 0, ratelimits: [] },
      allow: [],
      returnUrl: 'https://app.example.com/settings',
      endsAt: service.clock.nowMs() + 60 * MINUTE_MS,
    });
    const cookie = opened.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/^keystile_portal_7878=portal_\w+; Path=\/; Max-Age=3600; HttpOnly; SameSite=Strict$/);
    const again = await send('session', { token });
    expect([codeOf(again), again.body.error.message]).toEqual([
      ENDED,
      'This link was opened before, or has expired. Go back to the page where you found it to get a new one.',
    ]);
  });

  test('two browsers that open it at the same time: one of them has the page', async () => {
    const token = await link();
    const statuses = (await Promise.all([1, 2, 3].map(() => send('session', { token })))).map(({ status }) => status);
    expect(statuses.toSorted((one, other) => one - other)).toEqual([200, 401, 401]);
  });

  test('must be opened within 15 minutes, and the page lasts an hour, however it is used', async () => {
    const late = await link();
    const other = await link();
    service.clock.advance(15 * MINUTE_MS - 1);
    const opened = await send('session', { token: other });
    expect(opened.status).toBe(200);
    service.clock.advance(1);
    expect(codeOf(await send('session', { token: late }))).toEqual(ENDED);
    const { call } = await open();
    service.clock.advance(60 * MINUTE_MS - 1);
    expect((await call('listKeys')).status).toBe(200);
    service.clock.advance(1);
    expect((await call('listKeys')).body.error).toMatchObject({
      code: 'UNAUTHORIZED',
      message: 'This page has expired. Go back to where you came from and open it again.',
    });
    expect((await call('session', null)).body.visit).toBeNull();
  });

  test('the 21st ends the oldest', async () => {
    const first = await open();
    for (let i = 0; i < 19; i++) {
      service.clock.advance(1);
      await link();
    }
    expect((await first.call('listKeys')).status).toBe(200);
    service.clock.advance(1);
    await link();
    expect(codeOf(await first.call('listKeys'))).toEqual(ENDED);
  });

  test('ends when its root key is revoked, and when the customer is disabled or deleted', async () => {
    const { key, rootKeyId } = await service.ok('/v1/rootKeys.createRootKey', { name: 'shop', permissions: ['*'] });
    const byOther = await open({}, key as string);
    await service.ok('/v1/rootKeys.revokeRootKey', { rootKeyId });
    expect(codeOf(await byOther.call('listKeys'))).toEqual(ENDED);
    const { call } = await open();
    await service.ok('/v1/identities.updateIdentity', { externalId: 'acme', enabled: false });
    const disabled = await call('listKeys');
    expect(disabled.body.error.message).toBe('Your access is disabled. Ask the provider of this API.');
    await service.ok('/v1/identities.updateIdentity', { externalId: 'acme', enabled: true });
    expect((await call('listKeys')).status).toBe(200);
    await service.ok('/v1/identities.deleteIdentity', { externalId: 'acme' });
    expect(codeOf(await call('listKeys'))).toEqual(ENDED);
  });

  test('opening another link in the same browser ends the page before', async () => {
    const { call, cookie } = await open();
    expect((await send('session', { token: await link() }, { cookie })).status).toBe(200);
    expect(codeOf(await call('listKeys'))).toEqual(ENDED);
  });

  test('ends with portal.endSessions, and when its root key is rotated without an overlap', async () => {
    const { call } = await open();
    await link();
    expect(await service.ok('/v1/portal.endSessions', { externalId: 'acme' })).toEqual({ ended: 2 });
    expect(codeOf(await call('listKeys'))).toEqual(ENDED);
    expect(await service.ok('/v1/portal.endSessions', { externalId: 'acme' })).toEqual({ ended: 0 });
    const { key, rootKeyId } = await service.ok('/v1/rootKeys.createRootKey', { name: 'shop', permissions: ['*'] });
    const byOther = await open({}, key as string);
    await service.ok('/v1/rootKeys.rotateRootKey', { rootKeyId, overlapMs: 60_000 });
    expect((await byOther.call('listKeys')).status).toBe(200);
    await service.ok('/v1/rootKeys.rotateRootKey', { rootKeyId, overlapMs: 0 });
    expect(codeOf(await byOther.call('listKeys'))).toEqual(ENDED);
  });

  test('leaving ends the page', async () => {
    const { call } = await open();
    const left = await call('leave');
    expect(left.headers.get('set-cookie')).toMatch(/^keystile_portal_7878=; Path=\/; Max-Age=0;/);
    expect(codeOf(await call('listKeys'))).toEqual(ENDED);
  });
});

describe('what a link may be', () => {
  test.each([
    [
      'https://evil.example.com/',
      'returnUrl must begin with an origin that KEYSTILE_PORTAL_RETURN_ORIGINS names, got "',
    ],
    ['javascript:alert(1)', 'returnUrl must begin with an origin that KEYSTILE_PORTAL_RETURN_ORIGINS names, got "'],
    ['https://app.example.com.evil.com/', 'returnUrl must begin with an origin that'],
    ['settings', 'returnUrl must be an address such as https://app.example.com/, got "settings"'],
  ])('a return address that is not on the list is refused: %s', async (returnUrl, message) => {
    const { status, body } = await service.call('/v1/portal.createSession', { externalId: 'acme', apiId, returnUrl });
    expect([status, body.error.message]).toEqual([400, expect.stringContaining(message)]);
  });

  test('defaults that no key could have are refused at once', async () => {
    const keyDefaults = { refill: { interval: 'daily', amount: 5 } };
    const { status, body } = await service.call('/v1/portal.createSession', { externalId: 'acme', apiId, keyDefaults });
    expect([status, body.error.message]).toEqual([400, 'a refill needs credits: send remaining too']);
    const named = { externalId: 'other' };
    const owner = await service.call('/v1/portal.createSession', { externalId: 'acme', apiId, keyDefaults: named });
    expect(owner.status).toBe(400);
  });

  test('a root key gives away nothing that it may not do', async () => {
    const read = ['identity.*.read_identity', `api.${apiId}.read_key`, `api.${apiId}.read_api`];
    const attempt = async (more: readonly string[], allow: readonly string[]): Promise<number> => {
      const permissions = [...read, ...more];
      const { key } = await service.ok('/v1/rootKeys.createRootKey', { name: 'shop', permissions });
      const body = { externalId: 'acme', apiId, allow };
      return (await service.call('/v1/portal.createSession', body, { rootKey: key as string })).status;
    };
    const [create, update, remove] = ['create_key', 'update_key', 'delete_key'].map((each) => `api.${apiId}.${each}`);
    expect(await attempt([], [])).toBe(200);
    expect(await attempt([], ['delete'])).toBe(403);
    expect(await attempt([String(remove)], ['delete'])).toBe(200);
    expect(await attempt([String(create)], ['rotate'])).toBe(403);
    expect(await attempt([String(create), String(update)], ['rotate'])).toBe(200);
    // To name the owner of a key is a right of its own.
    expect(await attempt([String(create)], ['create'])).toBe(403);
    expect(await attempt([String(create), 'identity.*.create_identity'], ['create'])).toBe(200);
    expect(await attempt(['api.*.create_key'], ['create'])).toBe(200);
    const roles = { externalId: 'acme', apiId, allow: ['create'], keyDefaults: { roles: ['admin'] } };
    const permissions = [...read, 'api.*.create_key'];
    const { key } = await service.ok('/v1/rootKeys.createRootKey', { name: 'shop', permissions });
    expect((await service.call('/v1/portal.createSession', roles, { rootKey: key as string })).status).toBe(403);
  });

  test('the rights to read and to create are enough for a page that does', async () => {
    const permissions = ['identity.*.read_identity', 'api.*.read_key', 'api.*.read_api', 'api.*.create_key'];
    const { key } = await service.ok('/v1/rootKeys.createRootKey', { name: 'shop', permissions });
    const { call } = await open({ allow: ['create'] }, key as string);
    expect((await call('createKey', { name: 'one' })).status).toBe(200);
    expect((await call('getUsage')).status).toBe(200);
  });
});

test('a service that listens publicly makes no link without the address that customers open', async () => {
  const other = await TestService.start({ settings: { KEYSTILE_HOST: '0.0.0.0' } });
  await other.ok('/v1/identities.createIdentity', { externalId: 'acme' });
  const { status, body } = await other.call('/v1/portal.createSession', {
    externalId: 'acme',
    apiId: await other.createApi(),
  });
  expect([status, body.error.message]).toEqual([
    412,
    'A portal link begins with the public address of this service, which is not set. Set KEYSTILE_PUBLIC_URL.',
  ]);
  await other.close();
});
