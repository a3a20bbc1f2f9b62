import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';

import { until } from '../../tools/cluster/wait.ts';
import { TempFolder } from '../process/process.ts';
import { Server } from '../process/server.ts';
import { launchBrowser } from './chromium.ts';
import { visit } from './visit.ts';

const AXE = readFileSync(join(import.meta.dir, '../../node_modules/axe-core/axe.min.js'), 'utf8');
/** Every name that somebody else can choose is shown as text, whatever it contains. */
const HOSTILE = `<img src=x onerror="document.title='broken'"> "'</script> مرحبا`;

let folder: TempFolder;
let server: Server;
let browser: Browser;
let page: Page;
let complaints: string[];

beforeAll(async () => {
  folder = new TempFolder();
  const settings = { KEYSTILE_WEBHOOK_ALLOW_PRIVATE: 'on' };
  [server, browser] = await Promise.all([Server.start(folder, { settings }), launchBrowser()]);
  ({ page, complaints } = await visit(browser, server.url, { locale: 'en-GB' }));
  page.setDefaultTimeout(15_000);
  await page.goto('/dashboard');
  await page.getByLabel('Root key').waitFor();
});

afterAll(async () => {
  await browser.close();
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** Nothing is asked of another host, nothing is stopped by the policy, and nothing is wrong in the console. */
afterEach(() => {
  expect(complaints).toEqual([]);
});

const heading = (name: string | RegExp) => page.getByRole('heading', { name, level: 1 });
const open = (name: string) =>
  page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name, exact: true }).click();

const hasTitle = (name: string): Promise<void> =>
  until(`the page ${name} is shown`, async () => (await page.title()) === `${name} · Keystile`);

/** What a checker of accessibility finds wrong, in both themes. The policy of the page stops no script that the test evaluates. */
async function expectAccessible(): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.evaluate(AXE);
    const found = (await page.evaluate('axe.run()')) as {
      violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
    };
    const wrong = found.violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => ({ id, html, failureSummary })),
    );
    expect(wrong).toEqual([]);
  }
}

async function signIn(): Promise<void> {
  await page.getByLabel('Root key').fill(server.rootKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await heading('Overview').waitFor();
}

test('a wrong root key is refused in words, a right one signs in, and the browser stores no secret', async () => {
  await expectAccessible();
  await page.getByLabel('Root key').fill('root_wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('This root key is unknown.').waitFor();
  // The browser reports the refusal as an error of its own.
  expect(complaints.splice(0).every((each) => each.includes('401'))).toBe(true);
  await signIn();
  expect(await page.evaluate('JSON.stringify([localStorage, sessionStorage, document.cookie])')).toBe('[{},{},""]');
  await expectAccessible();
});

test('an api and a key are created, the key is verified, and the overview shows it', async () => {
  await open('Apis');
  await page.getByRole('button', { name: 'Create an api' }).click();
  await page.getByLabel('Name').fill(HOSTILE);
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('cell', { name: HOSTILE }).waitFor();
  await open('Keys');
  await page.getByRole('link', { name: 'Create a key' }).click();
  await page.getByLabel('Name').fill(HOSTILE);
  await page.getByLabel('Credits', { exact: true }).fill('3');
  await expectAccessible();
  await page.getByRole('button', { name: 'Create the key' }).click();
  await heading('The key was created').waitFor();
  const command = await page.getByText('curl').innerText();
  const key = /"key":"([^"]+)"/.exec(command)?.[1] ?? '';
  expect(await server.verify(key)).toMatchObject({ valid: true, remaining: 2 });
  await page.getByRole('link', { name: 'Open the key' }).click();
  await page.getByRole('definition').filter({ hasText: /^2$/ }).waitFor();
  await expectAccessible();
  await open('Overview');
  await page.getByRole('listitem').filter({ hasText: 'Valid 1' }).waitFor();
  expect(await page.title()).toBe('Overview · Keystile');
});

test('a customer, a role, an override and a webhook are created, and show up', async () => {
  await open('Customers');
  await page.getByRole('button', { name: 'Create a customer' }).click();
  await page.getByLabel('Your id').fill('acme');
  await page.getByLabel('Name').fill(HOSTILE);
  await page.getByLabel('Credits').fill('1000');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await heading(HOSTILE).waitFor();
  await page.getByRole('cell', { name: '1,000' }).first().waitFor();
  await expectAccessible();
  await open('Permissions');
  await page.getByRole('button', { name: 'Create a role' }).click();
  await page.getByLabel('Name').fill('editor');
  await page.getByLabel('Description').fill(HOSTILE);
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('cell', { name: HOSTILE }).waitFor();
  await server.ok('/v1/ratelimits.limit', { namespace: 'email', identifier: 'a', limit: 5, duration: 60_000 });
  await open('Limits');
  await page.getByLabel('Namespace').fill('email');
  await page.keyboard.press('Enter');
  await page.getByText('This namespace has no overrides.').waitFor();
  await page.getByRole('button', { name: 'Set an override' }).click();
  await page.getByLabel('Identifier').fill('vip');
  await page.getByLabel('Requests').fill('100');
  await page.getByRole('button', { name: 'Set', exact: true }).click();
  await page.getByRole('cell', { name: 'vip' }).waitFor();
  await expectAccessible();
  await open('Webhooks');
  await page.getByRole('button', { name: 'Create a webhook' }).click();
  await page.getByLabel('Address').fill('http://127.0.0.1:9/hooks');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByText('The signing secret, shown this once').waitFor();
  await page.getByText('Deliveries').click();
  await page.getByText('Nothing was sent yet.').waitFor();
  await expectAccessible();
});

test('every page of the menu opens, is accessible, and goes back', async () => {
  const names = await page.getByRole('navigation', { name: 'Main' }).getByRole('link').allInnerTexts();
  for (const name of names) {
    await open(name);
    await hasTitle(name);
    await until('all has loaded', async () => (await page.locator('.loading').count()) === 0);
    await expectAccessible();
  }
  await page.goBack();
  await hasTitle(names.at(-2) ?? '');
});

test('what the dashboard changes is in the audit log as such', async () => {
  await open('Audit log');
  const row = page.getByRole('row').filter({ hasText: 'key.create' });
  await row.getByText('(dashboard)').waitFor();
});

test('a session that ends in the middle of a form loses nothing', async () => {
  await open('Plans');
  await page.getByRole('button', { name: 'Create a plan' }).click();
  await page.getByLabel('Name').fill('pro');
  const { sessions } = (await server.ok('/v1/sessions.listSessions', {})) as { sessions: { id: string }[] };
  for (const { id: sessionId } of sessions) await server.ok('/v1/sessions.endSession', { sessionId });
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
  expect(complaints.splice(0).every((each) => each.includes('401'))).toBe(true);
  await page.getByLabel('Root key').fill(server.rootKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor({ state: 'hidden' });
  expect(await page.getByLabel('Name').inputValue()).toBe('pro');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('cell', { name: 'pro', exact: true }).waitFor();
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
  const opened = await visit(browser, started.url, { locale: 'en-GB' });
  await opened.page.goto(link);
  await opened.page.getByRole('heading', { name: 'Overview' }).waitFor();
  expect(new URL(opened.page.url()).hash).toBe('');
  // A second tab of the same browser is signed in as well.
  const tab = await opened.page.context().newPage();
  await tab.goto(`${started.url}/dashboard/apis`);
  await tab.getByRole('heading', { name: 'Apis' }).waitFor();
  expect(opened.complaints).toEqual([]);
  const stranger = await visit(browser, started.url, { locale: 'en-GB' });
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
  await heading('You may not see this page').waitFor();
  await expectAccessible();
  await open('Overview');
  await heading('Overview').waitFor();
  const names = await page.getByRole('navigation', { name: 'Main' }).getByRole('link').allInnerTexts();
  expect(names).toEqual(['Overview', 'Keys', 'Apis', 'Try it']);
  await open('Apis');
  await page.getByRole('cell', { name: HOSTILE }).waitFor();
  expect(await page.getByRole('button', { name: /Create|Delete/ }).count()).toBe(0);
});
