import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';

import { until } from '../../tools/cluster/wait.ts';
import { DashboardVisit } from '../browser/dashboardVisit.ts';
import { visit } from '../browser/visit.ts';

let at: DashboardVisit;
let page: Page;

beforeAll(async () => {
  at = await DashboardVisit.begin();
  ({ page } = at);
});

afterAll(() => at[Symbol.asyncDispose]());

afterEach(() => {
  expect(at.complaints).toEqual([]);
});

/** What a browser reports when the service is gone is no complaint about the page. */
function forgiveSilence(): void {
  const own = at.complaints.splice(0).filter((each) => !/ERR_|Failed to (fetch|load)|fails to load/.test(each));
  expect(own).toEqual([]);
}

test('a browser that keeps no cookies is told so in words', async () => {
  await page.route('**/dashboard/session', async (route) => {
    if (route.request().method() === 'GET') await page.context().clearCookies();
    await route.continue();
  });
  await at.signIn();
  await page.getByRole('alert').getByText('The browser did not keep the cookie').waitFor();
  await page.unrouteAll();
  await at.signIn();
  await at.heading('Overview').waitFor();
  const off = await visit(at.browser, at.server.url, { locale: 'en-GB' });
  await off.page.addInitScript("Object.defineProperty(Navigator.prototype, 'cookieEnabled', { get: () => false })");
  await off.page.goto('/dashboard');
  await off.page.getByText('Cookies are off in this browser.').waitFor();
  await off.page.context().close();
});

test.each(['.', '..', '~', '~..', 'a/b?c#d', '%2e%2e'])('the customer %s has a page', async (externalId) => {
  // A key brings its owner along, also one with a short id.
  await at.server.createKey({ externalId });
  await page.goto('/dashboard/customers');
  await page.getByRole('link', { name: externalId, exact: true }).click();
  await at.heading(externalId).waitFor();
  await page.reload();
  await at.heading(externalId).waitFor();
});

test('a service that goes away is told, the page keeps what it shows, and goes on when it is back', async () => {
  await page.goto('/dashboard');
  const nodes = page.getByRole('region', { name: 'Nodes', exact: true });
  await nodes.waitFor();
  await page.context().setOffline(true);
  await page.getByText('The service does not answer.').waitFor();
  expect(await nodes.count()).toBe(1);
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  // What was under way is tried once more.
  await until('it looks for the service', async () => asked.includes('/v1/liveness'));
  asked.length = 0;
  await until('it looks again, twice', async () => asked.length >= 2);
  expect(new Set(asked)).toEqual(new Set(['/v1/liveness']));
  await at.expectAccessible();
  await page.context().setOffline(false);
  await page.getByText('The service does not answer.').waitFor({ state: 'hidden' });
  forgiveSilence();
  const { key } = await at.server.createKey({});
  await at.server.verify(key);
  await page.getByRole('listitem').filter({ hasText: 'Valid 1' }).waitFor();
});

test('an old tab after an upgrade says so, also where the file of a page is gone', async () => {
  await page.route('**/dashboard/session', async (route) => {
    const answer = await route.fetch();
    const body = (await answer.json()) as { session: { version: string } };
    await route.fulfill({ response: answer, json: { session: { ...body.session, version: '9.9.9' } } });
  });
  // Coming back, it looks for an upgrade.
  await page.context().setOffline(true);
  await page.getByText('The service does not answer.').waitFor();
  await page.context().setOffline(false);
  await page.getByText('The service was upgraded to 9.9.9.').waitFor();
  forgiveSilence();
  await page.route('**/assets/part-*', (route) => route.fulfill({ status: 404, body: '' }));
  await at.open('Limits');
  await at.heading('This page cannot be shown').waitFor();
  await page.getByText('Either the service was upgraded since this tab was opened').waitFor();
  await at.expectAccessible();
  await page.unrouteAll();
  await page.getByRole('link', { name: 'Reload this page' }).click();
  await at.heading('Standalone limits').waitFor();
  at.complaints.splice(0);
});

test('with a wrong clock in the browser, times are those of the service', async () => {
  const wrong = await visit(at.browser, at.server.url, { locale: 'en-GB' });
  await wrong.page.clock.install({ time: Date.now() + 3 * 3_600_000 });
  await wrong.page.goto('/dashboard');
  await wrong.page.getByLabel('Root key').fill(at.server.rootKey);
  await wrong.page.getByRole('button', { name: 'Sign in' }).click();
  await wrong.page.getByText('The clock of this computer is 3 hours fast.').waitFor();
  await wrong.page.goto('/dashboard/access');
  const own = wrong.page.getByRole('listitem').filter({ hasText: 'This browser' });
  await own.getByText(/signed in (now|\d+ seconds? ago)/).waitFor();
  expect(wrong.complaints).toEqual([]);
  await wrong.page.context().close();
});

test('the pages open in a browser whose system has no language', async () => {
  const bare = await visit(at.browser, at.server.url);
  await bare.page.addInitScript(
    "Object.defineProperty(navigator, 'language', { value: 'en-US@posix', configurable: true })",
  );
  await bare.page.goto('/dashboard');
  await bare.page.getByLabel('Root key').waitFor();
  expect(bare.complaints).toEqual([]);
  await bare.page.context().close();
});
