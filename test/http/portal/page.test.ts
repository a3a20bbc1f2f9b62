import { beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { reuseService } from '../../support/reusedService.ts';
import { TestService } from '../../support/service.ts';
import { ALL, codeOf, ENDED, ORIGIN, portalCalls, SETTINGS } from './portalCalls.ts';

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

const { send, link, open } = portalCalls(
  () => service,
  () => apiId,
);

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
