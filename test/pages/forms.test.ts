import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';

import { DashboardVisit, HOSTILE } from '../browser/dashboardVisit.ts';
import { visit } from '../browser/visit.ts';
import type { Server } from '../process/server.ts';

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

test('without an api, the form of a key leads to the one of an api', async () => {
  await at.goTo('/keys/new');
  await page.getByText('Keys belong to an api').waitFor();
  await at.expectAccessible();
  await page.getByRole('main').getByRole('link', { name: 'Create an api' }).click();
  await at.heading('Apis').waitFor();
});

test('a key is created with a refill and limits of both modes, as the code beside the form says', async () => {
  const { apiId } = await server.ok('/v1/apis.createApi', { name: HOSTILE });
  await at.goTo(`/keys/new?api=${apiId}`);
  await page.getByLabel('Name').fill(HOSTILE);
  await page.getByLabel('When').selectOption('daily');
  await page.getByRole('button', { name: 'Create the key' }).click();
  await page.getByRole('alert').getByText('A refill needs credits.').waitFor();
  await page.getByLabel('Credits', { exact: true }).fill('10');
  await page.getByLabel('Refill to').fill('20');
  await page.getByRole('button', { name: 'Add a limit' }).click();
  await page.getByRole('button', { name: 'Add a limit' }).click();
  await page.getByRole('group', { name: 'Limit 2' }).getByLabel('Mode').selectOption('strict');
  expect(await page.getByRole('img').count()).toBe(2);
  const code = page.getByRole('complementary', { name: 'The same call in code' });
  await code.getByText('"amount": 20').waitFor();
  await code.getByText('"async": false').waitFor();
  await at.expectAccessible();
  await page.getByRole('button', { name: 'Create the key' }).click();
  await at.heading('The key was created').waitFor();
  const { keys } = (await server.ok('/v1/apis.listKeys', { apiId })) as { keys: object[] };
  expect(keys).toMatchObject([
    {
      name: HOSTILE,
      remaining: 10,
      refill: { interval: 'daily', amount: 20 },
      ratelimit: { limit: 100, duration: 60_000, async: true },
      ratelimits: [{ name: 'requests', limit: 100, duration: 60_000, async: false }],
    },
  ]);
});

async function tries(key: string, cost: string): Promise<void> {
  await page.getByLabel('Key', { exact: true }).fill(key);
  await page.getByLabel('Cost').fill(cost);
  await page.getByRole('button', { name: 'Verify' }).click();
}

test('the page asks before a key makes a customer, and names the one that was probably meant', async () => {
  const { apiId } = await server.ok('/v1/apis.createApi', { name: 'asked' });
  await server.ok('/v1/identities.createIdentity', { externalId: 'globex' });
  const customers = async (search: string) =>
    ((await server.ok('/v1/identities.listIdentities', { search })) as { identities: unknown[] }).identities.length;
  const openForm = async (): Promise<void> => {
    await at.open('Overview');
    await at.heading('Overview').waitFor();
    await at.goTo(`/keys/new?api=${apiId}`);
  };
  await openForm();
  await page.getByLabel('Name').fill('for globex');
  await page.getByLabel('Customer').fill('globexx');
  await page.getByRole('button', { name: 'Create the key' }).click();
  const question = page.locator('form').getByRole('alert');
  await question.getByText('There is no customer globexx. Did you mean globex?').waitFor();
  await question.getByText('or create this customer with the button of the form.').waitFor();
  await page.getByRole('button', { name: 'Create the customer and the key' }).waitFor();
  await at.expectAccessible();
  at.forgive(404);
  expect(await customers('globexx')).toBe(0);
  // Another id that is unknown is asked about again.
  await page.getByLabel('Customer').fill(HOSTILE);
  await page.getByRole('button', { name: 'Create the customer and the key' }).click();
  await question.getByText('There is no customer <img').waitFor();
  expect(await question.innerText()).not.toContain('Did you mean');
  at.forgive(404);
  await page.getByLabel('Customer').fill('globex');
  await page.getByRole('button', { name: 'Create the customer and the key' }).click();
  await at.heading('The key was created').waitFor();
  // Sent again with the same id, the form creates the customer.
  await openForm();
  await page.getByLabel('Customer').fill('initech');
  await page.getByRole('button', { name: 'Create the key' }).click();
  await question.getByText('There is no customer initech.').waitFor();
  at.forgive(404);
  await page.getByRole('button', { name: 'Create the customer and the key' }).click();
  await at.heading('The key was created').waitFor();
  expect(await customers('initech')).toBe(1);
  await page.getByRole('link', { name: 'Open the key' }).click();
  await at.openDialog('Edit');
  await page.getByLabel('Customer').fill('initechh');
  await at.send('Save');
  await at.dialog().getByText('Did you mean initech?').waitFor();
  at.forgive(404);
  await at.isSent('Create the customer and save');
  expect(await customers('initechh')).toBe(1);
  expect(await customers('globexx')).toBe(0);
});

test('where only its own call creates a customer, the page makes that call when it is asked to', async () => {
  await using own = await DashboardVisit.begin({ KEYSTILE_IDENTITIES_MUST_EXIST: 'on' });
  await own.signIn();
  await own.heading('Overview').waitFor();
  const { apiId } = await own.server.ok('/v1/apis.createApi', { name: 'asked' });
  await own.goTo(`/keys/new?api=${apiId}`);
  await own.page.getByLabel('Customer').fill('acme');
  await own.page.getByRole('button', { name: 'Create the key' }).click();
  await own.page.getByText('There is no customer acme.').waitFor();
  await own.page.getByRole('button', { name: 'Create the customer and the key' }).click();
  await own.heading('The key was created').waitFor();
  own.forgive(404);
  expect(await own.server.ok('/v1/identities.getIdentity', { externalId: 'acme' })).toMatchObject({ keys: 1 });
});

test('Try it shows which check decided and what was taken, and spends nothing with a cost of 0', async () => {
  const ratelimit = { limit: 10, duration: 3_600_000, async: false };
  const { keyId, key } = await server.createKey({ name: HOSTILE, remaining: 5, ratelimit });
  await at.open('Try it');
  const verdict = page.getByRole('region', { name: 'Verdict' });
  await tries(key, '0');
  await verdict.getByText('VALID', { exact: true }).waitFor();
  await verdict.getByText('credits of the key: 0 taken, 5 left').waitFor();
  await verdict.getByText('default of the key: 0 taken, 10 left').waitFor();
  expect(await server.ok('/v1/keys.getKey', { keyId })).toMatchObject({ remaining: 5, ratelimit: { used: 0 } });
  await at.expectAccessible();
  await tries(key, '2');
  await verdict.getByText('credits of the key: 2 taken, 3 left').waitFor();
  await verdict.getByText('default of the key: 1 taken, 9 left').waitFor();
  expect(await server.ok('/v1/keys.getKey', { keyId })).toMatchObject({ remaining: 3 });
  await page.getByLabel('Permission').fill('documents.read');
  await page.getByLabel('Tags').fill('path=/search, plan=pro');
  await tries(key, '1');
  await verdict.getByRole('listitem').filter({ hasText: 'The key has no permission.' }).getByText('refused').waitFor();
  await page.getByLabel('Permission').fill('');
  await server.ok('/v1/keys.updateKey', { keyId, enabled: false });
  await tries(key, '1');
  await verdict.getByText('DISABLED', { exact: true }).waitFor();
  await verdict.getByRole('listitem').filter({ hasText: 'The key is disabled.' }).getByText('refused').waitFor();
  await verdict.getByRole('listitem').filter({ hasText: 'credits' }).getByText('not reached').first().waitFor();
  await at.expectAccessible();
  expect(await server.ok('/v1/keys.getKey', { keyId })).toMatchObject({ remaining: 3 });
});

test('usage is exported as a file, and an error is told instead of saved', async () => {
  await server.ok('/v1/identities.createIdentity', { externalId: HOSTILE, remaining: 100 });
  const { key } = await server.createKey({ externalId: HOSTILE });
  await server.verify(key);
  await at.open('Usage');
  await page.getByRole('cell', { name: HOSTILE }).waitFor();
  await at.expectAccessible();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export as CSV' }).click(),
  ]);
  expect(download.suggestedFilename()).toBe('usage.csv');
  const [heading, ...rows] = readFileSync(await download.path(), 'utf8')
    .trim()
    .split('\n');
  expect(heading).toContain('spent');
  expect(rows.join('\n')).toContain('مرحبا');
  const saved: unknown[] = [];
  page.on('download', (each) => saved.push(each));
  await page.getByLabel('Customer').fill('nobody at all');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').first().waitFor();
  await page.getByRole('button', { name: 'Export as CSV' }).click();
  const told = page.locator('form').getByRole('alert');
  await told.waitFor();
  expect(await told.innerText()).toContain('There is no customer with this externalId');
  at.forgive(404);
  await at.expectAccessible();
  expect(saved).toEqual([]);
});

test('a root key that may read some usage is asked for a customer, and offered no file of all', async () => {
  const { identityId } = await server.ok('/v1/identities.createIdentity', { externalId: 'acme', remaining: 7 });
  const permissions = [`identity.${identityId}.read_usage`, `identity.${identityId}.read_identity`, 'rbac.*.read_role'];
  const { key } = await server.ok('/v1/rootKeys.createRootKey', { name: 'some', permissions });
  const some = await visit(at.browser, server.url, { locale: 'en-GB' });
  await some.page.goto('/dashboard/usage');
  await some.page.getByLabel('Root key').fill(key as string);
  await some.page.getByRole('button', { name: 'Sign in' }).click();
  await some.page.getByText('Enter a customer.').waitFor();
  await at.expectAccessible(some.page);
  expect(await some.page.getByRole('button', { name: 'Export as CSV' }).count()).toBe(0);
  await some.page.getByLabel('Customer').fill('acme');
  await some.page.keyboard.press('Enter');
  await some.page.getByRole('cell', { name: '7', exact: true }).first().waitFor();
  await some.page.getByRole('button', { name: 'Export as CSV' }).waitFor();
  // The right to read roles is enough for the page of permissions and roles.
  await some.page.getByRole('link', { name: 'Permissions' }).click();
  await some.page.getByText('There are no roles yet.').waitFor();
  expect(some.complaints).toEqual([]);
  await some.page.context().close();
});

test('a permission and a role are created and deleted', async () => {
  await at.open('Permissions');
  await at.openDialog('Create a permission');
  await page.getByLabel('Name').fill('documents.read');
  await page.getByLabel('Description').fill(HOSTILE);
  await at.expectAccessible();
  await at.isSent('Create');
  await page.getByRole('cell', { name: HOSTILE }).waitFor();
  await at.openDialog('Create a role');
  await page.getByLabel('Name').fill(HOSTILE);
  await at.isSent('Create');
  const role = page.getByRole('region', { name: 'Table of roles' }).getByRole('row').filter({ hasText: HOSTILE });
  await at.openDialog('Delete', role);
  await at.dialog().getByRole('textbox').fill(HOSTILE);
  await at.expectAccessible();
  await at.isSent('Delete');
  await page.getByText('There are no roles yet.').waitFor();
  await at.openDialog('Delete', page.getByRole('row').filter({ hasText: 'documents.read' }));
  await page.getByLabel('Type documents.read to confirm').fill('documents.read');
  await at.isSent('Delete');
  await page.getByText('There are no permissions yet.').waitFor();
  await at.expectAccessible();
});

test('an override is set for a hostile name, and deleted', async () => {
  await server.ok('/v1/ratelimits.limit', { namespace: 'email', identifier: 'a', limit: 5, duration: 60_000 });
  await at.open('Limits');
  await page.getByLabel('Namespace').fill('email');
  await page.keyboard.press('Enter');
  await at.openDialog('Set an override');
  await page.getByLabel('Identifier').fill(HOSTILE);
  await page.getByLabel('Requests').fill('7');
  await page.getByLabel('Mode').selectOption('strict');
  await at.isSent('Set');
  const row = page.getByRole('row').filter({ hasText: HOSTILE });
  await row.getByText('strict').waitFor();
  await at.openDialog('Delete', row);
  await at.dialog().getByRole('textbox').fill(HOSTILE);
  await at.isSent('Delete');
  await page.getByText('This namespace has no overrides.').waitFor();
  await at.expectAccessible();
});

test('a customer is disabled with all its keys, and its plan stands in the list by its name', async () => {
  const { planId } = await server.ok('/v1/plans.createPlan', { name: HOSTILE });
  const { key } = await server.createKey({ externalId: 'disabled one' });
  await server.ok('/v1/plans.assign', { externalId: 'disabled one', planId });
  await at.open('Customers');
  const row = page.getByRole('row').filter({ hasText: 'disabled one' });
  await row.getByRole('link', { name: HOSTILE }).waitFor();
  await row.getByRole('link', { name: 'disabled one' }).click();
  await at.heading('disabled one').waitFor();
  await at.openDialog('Disable');
  await at.expectAccessible();
  await at.isSent('Disable the customer');
  await page.getByText('Disabled', { exact: true }).waitFor();
  expect(await server.verify(key)).toMatchObject({ code: 'DISABLED' });
});
