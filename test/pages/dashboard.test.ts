import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';

import { DashboardVisit, HOSTILE } from '../browser/dashboardVisit.ts';
import { visit } from '../browser/visit.ts';
import { TempFolder } from '../process/process.ts';
import { Server } from '../process/server.ts';

let at: DashboardVisit;
let page: Page;
let server: Server;

beforeAll(async () => {
  at = await DashboardVisit.begin({ KEYSTILE_WEBHOOK_ALLOW_PRIVATE: 'on' });
  ({ page, server } = at);
});

afterAll(() => at[Symbol.asyncDispose]());

/** Nothing is asked of another host, nothing is stopped by the policy, and nothing is wrong in the console. */
afterEach(() => {
  expect(at.complaints).toEqual([]);
});

test('a wrong root key is refused in words, a right one signs in, and the browser stores no secret', async () => {
  await at.expectAccessible();
  await page.getByLabel('Root key').fill('root_wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('This root key is unknown.').waitFor();
  at.forgive(401);
  await at.signIn();
  await at.heading('Overview').waitFor();
  expect(await page.evaluate('JSON.stringify([localStorage, sessionStorage, document.cookie])')).toBe('[{},{},""]');
  await at.expectAccessible();
});

test('an api and a key are created, the key is verified, and the overview shows it', async () => {
  await at.open('Apis');
  await page.getByRole('button', { name: 'Create an api' }).click();
  await page.getByLabel('Name').fill(HOSTILE);
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('cell', { name: HOSTILE }).waitFor();
  await at.open('Keys');
  await page.getByRole('link', { name: 'Create a key' }).click();
  await page.getByLabel('Name').fill(HOSTILE);
  await page.getByLabel('Credits', { exact: true }).fill('3');
  await at.expectAccessible();
  await page.getByRole('button', { name: 'Create the key' }).click();
  await at.heading('The key was created').waitFor();
  const command = await page.getByText('curl').innerText();
  const key = /"key":"([^"]+)"/.exec(command)?.[1] ?? '';
  expect(await server.verify(key)).toMatchObject({ valid: true, remaining: 2 });
  await page.getByRole('link', { name: 'Open the key' }).click();
  await page.getByRole('definition').filter({ hasText: /^2$/ }).waitFor();
  await at.expectAccessible();
  await at.open('Overview');
  await page.getByRole('listitem').filter({ hasText: 'Valid 1' }).waitFor();
  expect(await page.title()).toBe('Overview · Keystile');
});

test('a customer, a role, an override and a webhook are created, and show up', async () => {
  await at.open('Customers');
  await page.getByRole('button', { name: 'Create a customer' }).click();
  await page.getByLabel('Your id').fill('acme');
  await page.getByLabel('Name').fill(HOSTILE);
  await page.getByLabel('Credits').fill('1000');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await at.heading(HOSTILE).waitFor();
  await page
    .getByRole('definition')
    .filter({ hasText: /^1,000$/ })
    .waitFor();
  await at.expectAccessible();
  await at.open('Permissions');
  await page.getByRole('button', { name: 'Create a role' }).click();
  await page.getByLabel('Name').fill('editor');
  await page.getByLabel('Description').fill(HOSTILE);
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('cell', { name: HOSTILE }).waitFor();
  await server.ok('/v1/ratelimits.limit', { namespace: 'email', identifier: 'a', limit: 5, duration: 60_000 });
  await at.open('Limits');
  await page.getByLabel('Namespace').fill('email');
  await page.keyboard.press('Enter');
  await page.getByText('This namespace has no overrides.').waitFor();
  await page.getByRole('button', { name: 'Set an override' }).click();
  await page.getByLabel('Identifier').fill('vip');
  await page.getByLabel('Requests').fill('100');
  await page.getByRole('button', { name: 'Set', exact: true }).click();
  await page.getByRole('cell', { name: 'vip' }).waitFor();
  await at.expectAccessible();
  await at.open('Webhooks');
  await page.getByRole('button', { name: 'Create a webhook' }).click();
  await page.getByLabel('Address').fill('http://127.0.0.1:9/hooks');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByText('Copy the signing secret now').waitFor();
  await page.getByText('Deliveries').click();
  await page.getByText('Nothing has been sent yet.').waitFor();
  await at.expectAccessible();
});

test('every page of the menu opens, is accessible, and goes back', async () => {
  const names = await page.getByRole('navigation', { name: 'Main' }).getByRole('link').allInnerTexts();
  for (const name of names) {
    await at.open(name);
    await at.hasTitle(name);
    await at.hasLoaded();
    await at.expectAccessible();
  }
  await page.goBack();
  await at.hasTitle(names.at(-2) ?? '');
});

test('what the dashboard changes is in the audit log as such', async () => {
  await at.open('Audit log');
  const row = page.getByRole('row').filter({ hasText: 'key.create' });
  await row.getByText('(dashboard)').waitFor();
});

test('a session that ends in the middle of a form loses nothing', async () => {
  await at.open('Plans');
  await page.getByRole('button', { name: 'Create a plan' }).click();
  await page.getByLabel('Name').fill('pro');
  const { sessions } = (await server.ok('/v1/sessions.listSessions', {})) as { sessions: { id: string }[] };
  for (const { id: sessionId } of sessions) await server.ok('/v1/sessions.endSession', { sessionId });
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
  at.forgive(401);
  await page.getByLabel('Root key').fill(server.rootKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor({ state: 'hidden' });
  expect(await page.getByLabel('Name').inputValue()).toBe('pro');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await at.heading('pro').waitFor();
});

test('signing out ends the session, here and in the service', async () => {
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Root key').waitFor();
  const { body } = await server.call('/v1/sessions.listSessions', {});
  expect(body).toEqual({ sessions: [] });
});

test('the link that a start prints signs in once, and does not stay in the address', async () => {
  using other = new TempFolder();
  await using started = await Server.start(other, { settings: { KEYSTILE_ROOT_KEY: '' }, onTerminal: true });
  const link = /\/dashboard#\S+/.exec(started.child.stdout)?.[0] ?? '';
  const opened = await visit(at.browser, started.url, { locale: 'en-GB' });
  await opened.page.goto(link);
  await opened.page.getByRole('heading', { name: 'Overview' }).waitFor();
  expect(new URL(opened.page.url()).hash).toBe('');
  // A second tab of the same browser is signed in as well.
  const tab = await opened.page.context().newPage();
  await tab.goto(`${started.url}/dashboard/apis`);
  await tab.getByRole('heading', { name: 'Apis' }).waitFor();
  expect(opened.complaints).toEqual([]);
  const stranger = await visit(at.browser, started.url, { locale: 'en-GB' });
  await stranger.page.goto(link);
  await stranger.page.getByText('This sign-in link was used before, or has expired.').waitFor();
  await Promise.all([opened.page.context().close(), stranger.page.context().close()]);
});

test('only what the root key may do is offered', async () => {
  const permissions = ['api.*.read_api', 'api.*.read_key'];
  const { key } = await server.ok('/v1/rootKeys.createRootKey', { name: 'reader', permissions });
  await page.getByLabel('Root key').fill(key as string);
  await page.getByRole('button', { name: 'Sign in' }).click();
  // The page that was open before.
  await at.heading('You do not have access to this page').waitFor();
  await at.expectAccessible();
  await at.open('Overview');
  await at.heading('Overview').waitFor();
  const names = await page.getByRole('navigation', { name: 'Main' }).getByRole('link').allInnerTexts();
  expect(names).toEqual(['Overview', 'Keys', 'Apis', 'Try it']);
  await at.open('Apis');
  await page.getByRole('cell', { name: HOSTILE }).waitFor();
  expect(await page.getByRole('button', { name: /Create|Delete/ }).count()).toBe(0);
});
