import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';

import { until } from '../../tools/cluster/wait.ts';
import { DashboardVisit, HOSTILE } from '../browser/dashboardVisit.ts';
import type { Server } from '../process/server.ts';

let at: DashboardVisit;
let page: Page;
let server: Server;

beforeAll(async () => {
  at = await DashboardVisit.begin({ KEYSTILE_LOCATION: 'attic', KEYSTILE_STALE_MAX: '2s' });
  ({ page, server } = at);
  await at.signIn();
  await at.heading('Overview').waitFor();
});

afterAll(() => at[Symbol.asyncDispose]());

/** Nothing is asked of another host, nothing is stopped by the policy, and nothing is wrong in the console. */
afterEach(() => {
  expect(at.complaints).toEqual([]);
});

const table = (name: string) => page.getByRole('region', { name, exact: true });

test('the first steps tick themselves off, and the last one is ticked by the person', async () => {
  const steps = page.getByRole('region', { name: 'First steps' });
  await steps.getByText('To do: Create an api').waitFor();
  await at.expectAccessible();
  const { key } = await server.createKey({ remaining: 50 });
  await steps.getByText('Done: Create a key').waitFor();
  await steps.getByText('To do: Verify it').waitFor();
  await server.verify(key);
  await steps.getByText('Done: Verify it').waitFor();
  expect(await steps.getByText("from '@keystile/sdk/express'").innerText()).toContain(server.url);
  // What it tells to install is what the service hands out.
  const [, sdk = ''] = /curl -fO (\S+)/.exec(await steps.getByText('npm install').innerText()) ?? [];
  const others = ['Python', 'Go'].map((name) => steps.getByRole('link', { name, exact: true }).getAttribute('href'));
  for (const url of [sdk, ...(await Promise.all(others))]) {
    expect(url).toStartWith(`${server.url}/sdk/`);
    expect((await fetch(url ?? '')).status).toBe(200);
  }
  await steps.getByRole('button', { name: 'I have done this' }).click();
  await steps.waitFor({ state: 'hidden' });
  await page.reload();
  await at.heading('Overview').waitFor();
  await at.hasLoaded();
  expect(await steps.count()).toBe(0);
  await page.getByText('The keys that were verified have no customer.').waitFor();
  await table('Top keys').getByRole('link').first().waitFor();
  expect(await page.getByText('There were no verifications').count()).toBe(0);
});

test('the page shows nodes, speed, success rate, and what is used most, as it happens', async () => {
  const { key } = await server.createKey({ remaining: 50, externalId: HOSTILE, alerts: { creditsBelow: 50 } });
  await server.verify(key);
  await page.reload();
  await table('Nodes')
    .getByRole('row', { name: /attic.*Running/ })
    .waitFor();
  // Times go on while the page is open.
  const started = table('Nodes').getByRole('cell').nth(3);
  const before = await started.innerText();
  await until('the time moves', async () => (await started.innerText()) !== before);
  await page.getByText('99 % within').waitFor();
  await page.getByRole('definition').filter({ hasText: '100.0%' }).waitFor();
  await table('Top customers').getByRole('link', { name: HOSTILE }).waitFor();
  await table('Top keys').getByRole('link').first().waitFor();
  await table('Top apis').getByRole('link').first().waitFor();
  await at.expectAccessible();
});

test('problems are told with what to do, and who runs low is named', async () => {
  const problems = page.getByRole('list', { name: 'Problems' });
  await problems.getByText('Create root keys with only the rights').waitFor();
  const low = table('Keys and customers that are about to run out or expire');
  const row = low.getByRole('row', { name: /Credits run low 49 left at that time/ });
  await until('it is named', async () => {
    await at.open('Try it');
    await at.open('Overview');
    await at.hasLoaded();
    return (await row.count()) > 0;
  });
  await page.getByRole('button', { name: 'Last 30 days' }).click();
  await page.getByRole('listitem').filter({ hasText: 'Valid 2' }).waitFor();
});

test('a customer that runs low is named among many of nearly the same name, and no longer when it is deleted', async () => {
  const name = 'team-1';
  await server.ok('/v1/identities.createIdentity', { externalId: name, remaining: 2, alerts: { creditsBelow: 2 } });
  for (let i = 0; i < 101; i++) await server.ok('/v1/identities.createIdentity', { externalId: `${name}${i}` });
  const { key } = await server.createKey({ externalId: name });
  await server.verify(key);
  const low = table('Keys and customers that are about to run out or expire');
  const row = low.getByRole('row', { name: new RegExp(`Customer ${name} Credits run low 1 left at that time`) });
  await until('it is named', async () => {
    await at.open('Try it');
    await at.open('Overview');
    await low.waitFor();
    return (await row.count()) === 1;
  });
  await server.ok('/v1/identities.deleteIdentity', { externalId: name, keys: 'delete' });
  await at.open('Try it');
  await at.open('Overview');
  await low.waitFor();
  expect(await row.count()).toBe(0);
});

test('the page does not pile up requests: with slow answers it waits for them', async () => {
  let open = 0;
  let most = 0;
  await page.route('**/v1/service.getStatus', async (route) => {
    most = Math.max(most, ++open);
    await Bun.sleep(6_000);
    open--;
    await route.continue();
  });
  await at.open('Try it');
  await at.open('Overview');
  await table('Nodes').waitFor();
  expect(most).toBe(1);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

test('settings show every check and where each setting comes from, and no secret', async () => {
  await at.open('Settings');
  await at.heading('Settings').waitFor();
  await table('All checks')
    .getByRole('row', { name: /^database OK/ })
    .waitFor();
  await table('All checks')
    .getByRole('row', { name: /^root-key Advice/ })
    .waitFor();
  await table('Configuration')
    .getByRole('row', { name: /KEYSTILE_ROOT_KEY set environment/ })
    .waitFor();
  await page.getByRole('button', { name: 'Changed' }).click();
  await table('Configuration')
    .getByRole('row', { name: /KEYSTILE_STALE_MAX 2s environment/ })
    .waitFor();
  expect(await table('Configuration').getByText('KEYSTILE_TIMEZONE', { exact: true }).count()).toBe(0);
  expect(await page.content()).not.toContain(server.rootKey);
  await at.expectAccessible();
});

test('an import shows its progress and its failures, and the list leads to it', async () => {
  const { apiId } = await server.ok('/v1/apis.createApi', { name: 'imported' });
  const keys = [{ plaintext: 'acme_made-elsewhere-000001' }, { plaintext: 'acme_made-elsewhere-000001' }];
  await server.call('/v1/migrations.enqueueKeys', { migrationId: HOSTILE, apiId, keys });
  await at.open('Imports');
  await page.getByRole('link', { name: HOSTILE }).click();
  await page.getByText('Finished, some failed').waitFor();
  await table('Failures').getByRole('cell', { name: '2', exact: true }).waitFor();
  await at.expectAccessible();
  await page.getByLabel('Import').fill('nothing-here');
  await page.keyboard.press('Enter');
  await page
    .getByRole('alert')
    .getByText(/migration/)
    .waitFor();
  at.forgive(404);
  await page.goto('/dashboard/imports');
  await at.hasLoaded();
});

test('on a phone no page is wider than the screen', async () => {
  await page.setViewportSize({ width: 360, height: 740 });
  for (const path of ['', '/settings', '/imports']) {
    await page.goto(`/dashboard${path}`);
    await at.hasLoaded();
    expect([path, await page.evaluate('document.documentElement.scrollWidth > innerWidth')]).toEqual([path, false]);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
});

test('who may not read the status sees whether the service is ready, and no settings', async () => {
  const { key } = await server.ok('/v1/rootKeys.createRootKey', { name: 'reader', permissions: ['api.*.read_api'] });
  await page.getByRole('button', { name: 'Sign out' }).click();
  await at.signIn(key as string);
  await at.heading('You do not have access to this page').waitFor();
  await at.open('Overview');
  await page.getByText('Ready', { exact: true }).waitFor();
  expect(await page.getByRole('link', { name: 'Settings' }).count()).toBe(0);
  await at.hasLoaded();
  await at.expectAccessible();
});
