import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';

import { shownStart } from '../../src/core/secret.ts';
import { DashboardVisit, HOSTILE } from '../browser/dashboardVisit.ts';
import { visit } from '../browser/visit.ts';

let at: DashboardVisit;
let apiId: string;

beforeAll(async () => {
  at = await DashboardVisit.begin({
    KEYSTILE_PORTAL_NAME: HOSTILE,
    KEYSTILE_PORTAL_COLOR: '#ffcc00',
    KEYSTILE_PORTAL_RETURN_ORIGINS: 'https://app.example.com',
  });
  apiId = (await at.server.ok('/v1/apis.createApi', { name: 'shop' }))['apiId'] as string;
  const plan = { name: HOSTILE, remaining: 100, ratelimits: [{ name: 'all', limit: 10, duration: 1000, async: true }] };
  const { planId } = await at.server.ok('/v1/plans.createPlan', plan);
  await at.server.ok('/v1/identities.createIdentity', { externalId: 'acme', name: HOSTILE });
  await at.server.ok('/v1/plans.assign', { externalId: 'acme', planId });
});

afterAll(() => at[Symbol.asyncDispose]());

const pages: { page: Page; complaints: string[] }[] = [];

/** Nothing is asked of another host, nothing is stopped by the policy, and nothing is wrong in the console. */
afterEach(async () => {
  for (const { page, complaints } of pages.splice(0)) {
    expect(complaints).toEqual([]);
    await page.context().close();
  }
});

/** A browser of the customer, at the page. */
async function openLink(fields: object, sized = {}): Promise<Page> {
  const { url } = await at.server.ok('/v1/portal.createSession', { externalId: 'acme', apiId, ...fields });
  const visited = await visit(at.browser, at.server.url, { locale: 'en-GB', ...sized });
  pages.push(visited);
  // The service was started on a free port, which its settings do not know.
  await visited.page.goto(`/portal${new URL(String(url)).hash}`);
  await visited.page.getByRole('heading', { name: 'Your keys' }).waitFor();
  return visited.page;
}

test('a customer creates a key, uses it, sees the usage, rotates and deletes it', async () => {
  const page = await openLink({ allow: ['create', 'rotate', 'delete'], returnUrl: 'https://app.example.com/settings' });
  expect(new URL(page.url()).hash).toBe('');
  expect(await page.title()).toBe(HOSTILE);
  expect(await page.getByRole('link', { name: 'Back' }).getAttribute('href')).toBe('https://app.example.com/settings');
  await page.getByText('You have no keys yet.').waitFor();
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByLabel('Name').fill(HOSTILE);
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByText('it is shown only once').waitFor();
  const key = await page.getByRole('status').locator('code').innerText();
  expect(await at.server.verify(key)).toMatchObject({ valid: true, remaining: 99 });
  await at.expectAccessible(page);
  await page.getByRole('button', { name: 'I have it' }).click();
  await page.reload();
  await page.getByRole('cell', { name: HOSTILE }).waitFor();
  await page.getByRole('definition').filter({ hasText: /^99$/ }).waitFor();
  await page.getByRole('listitem').filter({ hasText: 'Valid 1' }).waitFor();
  await page.getByRole('button', { name: 'Rotate' }).click();
  await page.getByLabel('The current secret').selectOption('0');
  await page.getByRole('button', { name: 'Give it a new secret' }).click();
  await page.getByText('it is shown only once').waitFor();
  expect(await at.server.verify(key)).toMatchObject({ code: 'NOT_FOUND' });
  const newKey = await page.getByRole('status').locator('code').innerText();
  const start = shownStart(null, newKey);
  await page
    .getByRole('row')
    .filter({ hasText: `${start}…` })
    .waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByLabel(/Type .* to confirm/).fill(start);
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('You have no keys yet.').waitFor();
});

test('a customer who may only look sees no buttons, also on a phone', async () => {
  await at.server.ok('/v1/keys.createKey', { apiId, externalId: 'acme', name: 'server' });
  const page = await openLink({}, { viewport: { width: 360, height: 740 } });
  await page.getByRole('cell', { name: 'server' }).waitFor();
  expect(await page.getByRole('button').allInnerTexts()).toEqual(['Leave', 'Previous', 'Next']);
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  await at.expectAccessible(page);
  await page.getByRole('button', { name: 'Leave' }).click();
  await page.getByText('Open the link that you were given.').waitFor();
});

test('a page whose customer is disabled meanwhile says so', async () => {
  const page = await openLink({ allow: ['create'] });
  // Only when the form is sent: the page looks after its customer every few seconds, and the form goes away then.
  await page.route('**/portal/createKey', async (route) => {
    await at.server.ok('/v1/identities.updateIdentity', { externalId: 'acme', enabled: false });
    await route.continue();
  });
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByText('Your access is disabled.').waitFor();
  await at.expectAccessible(page);
  await at.server.ok('/v1/identities.updateIdentity', { externalId: 'acme', enabled: true });
  const [opened] = pages;
  expect(opened?.complaints.splice(0).filter((each) => !each.includes('401'))).toEqual([]);
});

test('the dashboard offers for a link what the root key may do in the chosen api', async () => {
  const { apiId: otherId } = await at.server.ok('/v1/apis.createApi', { name: 'other' });
  await at.server.ok('/v1/apis.createApi', { name: 'hidden' });
  const onApis = [`api.${apiId}.read_key`, `api.${apiId}.create_key`, `api.${apiId}.delete_key`];
  const permissions = ['api.*.read_api', 'identity.*.read_identity', `api.${String(otherId)}.read_key`, ...onApis];
  const { key } = await at.server.ok('/v1/rootKeys.createRootKey', { name: 'one api', permissions });
  const visited = await visit(at.browser, at.server.url, { locale: 'en-GB' });
  pages.push(visited);
  const { page } = visited;
  await page.goto('/dashboard');
  await page.getByLabel('Root key').fill(String(key));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Customers', exact: true }).click();
  await page.getByRole('link', { name: HOSTILE }).first().click();
  await page.getByRole('button', { name: "Customer's page", exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Api').selectOption('shop');
  expect((await dialog.getByLabel('Api').locator('option').allInnerTexts()).toSorted()).toEqual(['other', 'shop']);
  await dialog.getByLabel('delete').check();
  // Not "create": the root key may name no owner of a new key.
  expect(await dialog.getByRole('checkbox').count()).toBe(1);
  await dialog.getByLabel('Api').selectOption('other');
  await dialog.getByRole('checkbox').waitFor({ state: 'detached' });
  await dialog.getByRole('button', { name: 'Make the link' }).click();
  await dialog.getByRole('status').locator('code').waitFor();
});

test('the dashboard makes a link for a customer', async () => {
  const { page } = at;
  await at.signIn();
  await at.heading('Overview').waitFor();
  await at.open('Customers');
  await page.getByRole('link', { name: HOSTILE }).first().click();
  await page.getByRole('button', { name: "Customer's page" }).click();
  await page.getByLabel('rotate').check();
  await at.expectAccessible();
  await page.getByRole('button', { name: 'Make the link' }).click();
  const link = await page.getByRole('status').locator('code').innerText();
  const visited = await visit(at.browser, at.server.url, { locale: 'en-GB' });
  pages.push(visited);
  await visited.page.goto(`/portal${new URL(link).hash}`);
  await visited.page.getByRole('button', { name: 'Rotate' }).first().waitFor();
  expect(await visited.page.getByRole('button', { name: 'Create a key' }).count()).toBe(0);
  expect(at.complaints).toEqual([]);
});
