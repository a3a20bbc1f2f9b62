import { beforeEach, describe, expect, test } from 'bun:test';

import { reuseService } from '../../support/reusedService.ts';
import { TestService } from '../../support/service.ts';
import { codeOf, ENDED, MINUTE_MS, portalCalls, SETTINGS } from './portalCalls.ts';

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
