import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';

import { until } from '../../tools/cluster/wait.ts';
import { DashboardVisit, HOSTILE } from '../browser/dashboardVisit.ts';
import { visit } from '../browser/visit.ts';
import type { Server } from '../process/server.ts';

/** More than a page of a table has. */
const KEYS = 60;

let at: DashboardVisit;
let page: Page;
let server: Server;
let apiId: string;

beforeAll(async () => {
  at = await DashboardVisit.begin();
  ({ page, server } = at);
  ({ apiId } = (await server.ok('/v1/apis.createApi', { name: 'payments' })) as { apiId: string });
  const keys = Array.from({ length: KEYS }, (_, i) => ({ name: `key ${i + 1}` }));
  await server.ok('/v1/keys.createKeys', { apiId, keys });
  await server.ok('/v1/identities.createIdentity', { externalId: 'acme', name: HOSTILE, remaining: 1_234_567 });
});

afterAll(() => at[Symbol.asyncDispose]());

afterEach(() => {
  expect(at.complaints).toEqual([]);
});

/** Presses Tab until the element has the focus. */
async function tabTo(element: Locator): Promise<void> {
  const focused = element.and(page.locator(':focus'));
  for (let i = 0; i < 60 && (await focused.count()) === 0; i++) await page.keyboard.press('Tab');
  expect(await focused.count()).toBe(1);
}

test('with the keyboard alone: sign in, open the keys, and create one', async () => {
  await tabTo(page.getByLabel('Root key'));
  await page.keyboard.type(server.rootKey);
  await page.keyboard.press('Enter');
  await at.heading('Overview').waitFor();
  await tabTo(page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Keys', exact: true }));
  await page.keyboard.press('Enter');
  await page.getByRole('cell', { name: 'key 1', exact: true }).waitFor();
  await tabTo(page.getByRole('link', { name: 'Create a key' }));
  await page.keyboard.press('Enter');
  await page.getByLabel('Name').waitFor();
  await tabTo(page.getByLabel('Name'));
  await page.keyboard.type('by hand');
  await tabTo(page.getByRole('button', { name: 'Add a limit' }));
  await page.keyboard.press('Space');
  await tabTo(page.getByRole('group', { name: 'Limit 1' }).getByLabel('Requests'));
  await tabTo(page.getByRole('button', { name: 'Create the key' }));
  await page.keyboard.press('Enter');
  await at.heading('The key was created').waitFor();
  await at.expectAccessible();
});

test('a dialog is opened, left with Escape, and gives the focus back', async () => {
  await at.open('Customers');
  await at.openDialog('Create a customer');
  await page.getByLabel('Your id').and(page.locator(':focus')).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Create a customer' }).and(page.locator(':focus')).waitFor();
});

test('a table with more rows than a page goes to the next page and back', async () => {
  await at.goTo(`/keys?api=${apiId}`);
  const rows = page.locator('tbody tr');
  await page.getByText('Page 1').waitFor();
  expect(await rows.count()).toBe(50);
  expect(await page.getByRole('button', { name: 'Previous' }).isDisabled()).toBe(true);
  await page.getByRole('button', { name: 'Next' }).click();
  await page.getByText('Page 2').waitFor();
  await until('the rest is shown', async () => (await rows.count()) === KEYS + 1 - 50);
  await page.getByRole('cell', { name: 'by hand' }).waitFor();
  expect(await page.getByRole('button', { name: 'Next' }).isDisabled()).toBe(true);
  await at.expectAccessible();
  await page.getByRole('button', { name: 'Previous' }).click();
  await page.getByText('Page 1').waitFor();
  await page.getByRole('cell', { name: 'key 1', exact: true }).waitFor();
  expect(await rows.count()).toBe(50);
});

test('a text is copied, and a check mark says so', async () => {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await at.goTo(`/apis/${apiId}`);
  await page.getByRole('button', { name: 'Copy the id' }).click();
  const copy = page.locator('.copyable button').first();
  await copy.filter({ hasText: '✓ Copied' }).waitFor();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(apiId);
  await copy.filter({ hasText: /^Copy$/ }).waitFor();
});

test('a time shows the exact UTC when it is pointed at', async () => {
  const { keys } = (await server.ok('/v1/apis.listKeys', { apiId, limit: 1 })) as { keys: { createdAt: number }[] };
  await at.goTo(`/keys?api=${apiId}`);
  const time = page.getByRole('row').filter({ hasText: 'key 1' }).first().locator('time');
  expect(await time.getAttribute('title')).toBe(new Date(keys[0]?.createdAt ?? 0).toISOString());
});

test('numbers and times are those of the reader', async () => {
  const german = await visit(at.browser, server.url, { locale: 'de-DE', timezoneId: 'Asia/Kolkata' });
  await german.page.goto('/dashboard/customers');
  await german.page.getByLabel('Root key').fill(server.rootKey);
  await german.page.getByRole('button', { name: 'Sign in' }).click();
  await german.page.getByRole('cell', { name: '1.234.567' }).waitFor();
  await german.page.getByRole('link', { name: 'Audit log' }).click();
  const time = german.page.locator('time').first();
  const utc = (await time.getAttribute('title')) ?? '';
  // Kolkata is five and a half hours ahead all year.
  const [, year, month, day, clock] =
    /^(\d+)-(\d+)-(\d+)T(.{8})/.exec(new Date(Date.parse(utc) + 5.5 * 3_600_000).toISOString()) ?? [];
  expect(await time.innerText()).toBe(`${day}.${month}.${year}, ${clock}`);
  expect(german.complaints).toEqual([]);
  await german.page.context().close();
});

test('the audit log tells of a long value how long it was, and which', async () => {
  const meta = { text: 'x'.repeat(5000) };
  const { apiId: audited } = (await server.ok('/v1/apis.createApi', { name: 'audited' })) as { apiId: string };
  const { keyId } = (await server.ok('/v1/keys.createKey', { apiId: audited, meta })) as { keyId: string };
  await at.goTo('/audit');
  const row = page.getByRole('row').filter({ hasText: keyId });
  await row.locator('summary').click();
  const digest = new Bun.CryptoHasher('sha256').update(JSON.stringify(meta)).digest('hex').slice(0, 8);
  await row.getByText(`(not kept: 5011 bytes, SHA-256 ${digest}...)`).waitFor();
});

test('a screen of 3840 pixels is used without scrolling sideways', async () => {
  await page.setViewportSize({ width: 3840, height: 2160 });
  for (const name of await page.getByRole('navigation', { name: 'Main' }).getByRole('link').allInnerTexts()) {
    await at.open(name);
    await at.hasTitle(name);
    await at.hasLoaded();
    expect([name, await page.evaluate('document.documentElement.scrollWidth <= innerWidth')]).toEqual([name, true]);
  }
  await at.goTo('/keys/new');
  await page.getByLabel('Name').waitFor();
  await at.expectAccessible();
});

test('a choice that does not offer everything says so', async () => {
  await page.setViewportSize({ width: 1280, height: 800 });
  for (let i = 0; i < 100; i++) await server.ok('/v1/apis.createApi', { name: `api ${i}` });
  for (const path of ['/keys', '/keys/new']) {
    await at.goTo(path);
    await page.getByText('Only the first 100 apis are listed.').waitFor();
    await at.hasLoaded();
  }
  await at.expectAccessible();
});
