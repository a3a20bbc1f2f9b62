import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';

import { until } from '../../tools/cluster/wait.ts';
import { DashboardVisit, HOSTILE } from '../browser/dashboardVisit.ts';
import { visit } from '../browser/visit.ts';
import type { Server } from '../process/server.ts';

const MENU = 'Root keys and sessions';

let at: DashboardVisit;
let page: Page;
let server: Server;

beforeAll(async () => {
  at = await DashboardVisit.begin();
  ({ page, server } = at);
  await at.signIn();
  await at.heading('Overview').waitFor();
});

afterAll(() => at[Symbol.asyncDispose]());

afterEach(() => {
  expect(at.complaints).toEqual([]);
});

const rowOf = (name: string): Locator => page.getByRole('row').filter({ hasText: name });
const shownSecret = (): Locator => page.getByRole('status').filter({ hasText: 'shown only once' }).locator('code');

async function knownAs(name: string): Promise<{ start: string; permissions: string[]; expires?: number }> {
  const { rootKeys } = (await server.ok('/v1/rootKeys.listRootKeys', {})) as {
    rootKeys: { name: string; start: string; permissions: string[]; expires?: number }[];
  };
  const found = rootKeys.find((each) => each.name === name);
  if (found === undefined) throw new Error(`There is no root key ${name}.`);
  return found;
}

/** The status that a call with the root key answers. */
async function statusWith(rootKey: string): Promise<number> {
  const response = await fetch(`${server.url}/v1/apis.listApis`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${rootKey}` },
    body: '{}',
  });
  return response.status;
}

test('a root key gets chosen and typed rights and an expiry, is rotated with an overlap, and revoked', async () => {
  await at.open(MENU);
  await at.openDialog('Create a root key');
  // The first field, not the button that closes the dialog.
  await page.getByLabel('Name').and(page.locator(':focus')).waitFor();
  await page.keyboard.type(HOSTILE);
  await at.send('Create');
  await page.getByRole('alert').getByText('Choose at least one right.').waitFor();
  await at.dialog().getByText('api: 0 of').click();
  await page.getByLabel('api.*.read_api').check();
  await page.getByLabel('api.*.verify_key').check();
  await page.getByLabel('Other rights').fill('nonsense');
  await at.send('Create');
  await page.getByRole('alert').getByText('There is no right nonsense.').waitFor();
  await page.getByLabel('Other rights').fill('plan.plan_1.read_plan');
  await page.getByLabel('Expires').fill('2040-01-02T03:04');
  await at.expectAccessible();
  await at.isSent('Create');
  const secret = await shownSecret().innerText();
  expect(await statusWith(secret)).toBe(200);
  expect(await knownAs(HOSTILE)).toMatchObject({
    permissions: expect.arrayContaining(['api.*.read_api', 'api.*.verify_key', 'plan.plan_1.read_plan']),
    expires: new Date('2040-01-02T03:04').getTime(),
  });
  await rowOf(HOSTILE).getByText('Active').waitFor();
  await at.expectAccessible();

  await at.openDialog('Rotate', rowOf(HOSTILE));
  await page.getByLabel('Hours for which the old secret stays valid').fill('1');
  await at.expectAccessible();
  await at.isSent('Rotate the root key');
  await shownSecret().filter({ hasNotText: secret }).waitFor();
  const other = await shownSecret().innerText();
  expect([await statusWith(secret), await statusWith(other)]).toEqual([200, 200]);
  await at.openDialog('Rotate', rowOf(HOSTILE));
  await page.getByLabel('Hours for which the old secret stays valid').fill('0');
  await at.isSent('Rotate the root key');
  await shownSecret().filter({ hasNotText: other }).waitFor();
  expect([await statusWith(secret), await statusWith(other)]).toEqual([401, 401]);

  const { start } = await knownAs(HOSTILE);
  await rowOf(HOSTILE).getByText(start).waitFor();
  await at.openDialog('Revoke', rowOf(HOSTILE));
  await page.getByLabel(`Type ${start} to confirm`).fill(start);
  await at.isSent('Revoke');
  await rowOf(HOSTILE).getByText('Revoked').waitFor();
  expect(await statusWith(await shownSecret().innerText())).toBe(401);
});

test('a root key that has expired is shown as such, and cannot be rotated', async () => {
  const fields = { name: 'short', permissions: ['*'], expires: Date.now() + 1_500 };
  await server.ok('/v1/rootKeys.createRootKey', fields);
  await until('it has expired', async () => Date.now() > fields.expires);
  await at.open('Overview');
  await at.open(MENU);
  await rowOf('short').getByText('Expired').waitFor();
  expect(await rowOf('short').getByRole('button', { name: 'Rotate', exact: true }).count()).toBe(0);
});

test('a session of another browser is ended, and that browser is asked to sign in again', async () => {
  const other = await visit(at.browser, server.url, { locale: 'en-GB', userAgent: HOSTILE.replace(/[^ -~]/g, '') });
  await other.page.goto('/dashboard');
  await other.page.getByLabel('Root key').fill(server.rootKey);
  await other.page.getByRole('button', { name: 'Sign in' }).click();
  await other.page.getByRole('heading', { name: 'Overview' }).waitFor();
  await at.open('Overview');
  await at.open(MENU);
  const ending = page.getByRole('button', { name: 'End the session' });
  await ending.waitFor();
  await at.expectAccessible();
  await ending.click();
  await ending.waitFor({ state: 'detached' });
  await other.page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
  await other.page.context().close();
  expect(await page.getByText('This browser').count()).toBe(1);
});
