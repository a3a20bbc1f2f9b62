import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';

import { DashboardVisit } from './dashboardVisit.ts';

let at: DashboardVisit;

beforeAll(async () => {
  at = await DashboardVisit.begin();
});

afterAll(() => at[Symbol.asyncDispose]());

/** Nothing is asked of another host, nothing is stopped by the policy, and nothing is wrong in the console. */
afterEach(() => {
  expect(at.complaints).toEqual([]);
});

test('sign in, create an api and a key, verify it, and see it on the overview', async () => {
  const { page, server } = at;
  await at.signIn();
  await at.heading('Overview').waitFor();
  await at.open('Apis');
  await page.getByRole('button', { name: 'Create an api' }).click();
  await page.getByLabel('Name').fill('first');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('cell', { name: 'first' }).waitFor();
  await at.open('Keys');
  await page.getByRole('link', { name: 'Create a key' }).click();
  await page.getByLabel('Name').fill('first');
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
