import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';

import { DashboardVisit, HOSTILE } from '../browser/dashboardVisit.ts';
import type { Server } from '../process/server.ts';

/** Ten thousand characters of metadata. */
const LONG_META = { note: HOSTILE, text: 'long '.repeat(2_000) };

let at: DashboardVisit;
let page: Page;
let server: Server;

beforeAll(async () => {
  at = await DashboardVisit.begin({ KEYSTILE_WEBHOOK_ALLOW_PRIVATE: 'on' });
  ({ page, server } = at);
  await at.signIn();
  await at.heading('Overview').waitFor();
});

afterAll(() => at[Symbol.asyncDispose]());

afterEach(() => {
  expect(at.complaints).toEqual([]);
});

/** Saves a form whose record somebody else has changed meanwhile. */
async function savesAgain(theirs: string, name = 'Save'): Promise<void> {
  await at.send(name);
  const notice = page.getByRole('alert').filter({ hasText: 'Someone else has changed this' });
  await notice.getByText(theirs, { exact: true }).waitFor();
  await at.expectAccessible();
  await at.isSent(`${name} anyway`);
}

test('a plan is made with all its fields, changed, and deleted only when nobody holds it', async () => {
  await server.ok('/v1/permissions.createPermission', { name: 'documents.read' });
  await server.ok('/v1/permissions.createRole', { name: HOSTILE });
  await at.open('Plans');
  await at.openDialog('Create a plan');
  await page.getByLabel('Name', { exact: true }).fill(HOSTILE);
  await page.getByLabel('Credits', { exact: true }).fill('500');
  await page.getByLabel('When').selectOption('monthly');
  await page.getByLabel('Refill to').fill('500');
  await page.getByLabel('Day of the month').fill('15');
  await page.getByRole('button', { name: 'Add a limit' }).click();
  await page.getByLabel('Maximum keys').fill('3');
  await page.getByLabel('Roles').fill(HOSTILE);
  await page.getByLabel('Permissions').fill('documents.read');
  await page.getByLabel('Metadata').fill(JSON.stringify(LONG_META));
  expect(await page.getByText('Not included in the answers of verifications.').count()).toBe(1);
  await at.expectAccessible();
  await at.isSent('Create');
  await at.heading(HOSTILE).waitFor();
  await at.hasLoaded();
  await at.expectAccessible();
  const planId = new URL(page.url()).pathname.split('/').at(-1) ?? '';
  const readPlan = () => server.ok('/v1/plans.getPlan', { planId });
  expect(await readPlan()).toMatchObject({
    name: HOSTILE,
    remaining: 500,
    refill: { interval: 'monthly', amount: 500, refillDay: 15 },
    ratelimits: [{ name: 'requests', limit: 100, duration: 60_000 }],
    maxKeys: 3,
    meta: LONG_META,
  });
  await at.openDialog('Edit');
  await page.getByLabel('Maximum keys').fill('4');
  await server.ok('/v1/plans.updatePlan', { planId, name: 'theirs' });
  await savesAgain('theirs');
  await at.heading('theirs').waitFor();
  expect(await readPlan()).toMatchObject({ name: 'theirs', maxKeys: 4, remaining: 500, roles: [expect.any(String)] });
  await server.ok('/v1/identities.createIdentity', { externalId: 'holder' });
  await server.ok('/v1/plans.assign', { externalId: 'holder', planId });
  await at.openDialog('Delete the plan');
  await page.getByLabel('Type theirs to confirm').fill('theirs');
  await at.send('Delete the plan');
  await at.dialog().getByRole('alert').getByText('1 customer or key').waitFor();
  at.forgive(409);
  await server.ok('/v1/plans.assign', { externalId: 'holder', planId: null });
  await at.isSent('Delete the plan');
  await page.getByText('There are no plans yet.').waitFor();
});

test('a customer is made and changed: name, keys, limits, refill, credits, plan, metadata', async () => {
  const { planId } = await server.ok('/v1/plans.createPlan', { name: 'starter', remaining: 5 });
  await at.open('Customers');
  await at.openDialog('Create a customer');
  await page.getByLabel('Your id').fill('acme');
  await page.getByLabel('Name').fill(HOSTILE);
  await page.getByLabel('Credits').fill('100');
  await page.getByLabel('Metadata').fill('{"tier": "gold"}');
  expect(await page.getByText(/\. Included in the answers of verifications\./).count()).toBe(1);
  await at.isSent('Create');
  await at.heading(HOSTILE).waitFor();
  const read = () => server.ok('/v1/identities.getIdentity', { externalId: 'acme' });
  await at.openDialog('Edit');
  await page.getByLabel('Name', { exact: true }).fill('شركة');
  await page.getByLabel('Maximum keys').fill('9');
  await page.getByLabel('When').selectOption('daily');
  await page.getByLabel('How').selectOption('add');
  await page.getByLabel('Adds credits').fill('10');
  await page.getByLabel('At most').fill('1000');
  await page.getByRole('button', { name: 'Add a limit' }).click();
  await page.getByRole('group', { name: 'Limit 1' }).getByLabel('Name').fill(HOSTILE);
  await page.getByRole('group', { name: 'Limit 1' }).getByLabel('Mode').selectOption('strict');
  await page.getByLabel('Metadata').fill(JSON.stringify(LONG_META));
  await server.ok('/v1/identities.updateIdentity', { externalId: 'acme', maxKeys: 77 });
  await savesAgain('77');
  await at.heading('شركة').waitFor();
  expect(await read()).toMatchObject({
    name: 'شركة',
    maxKeys: 9,
    remaining: 100,
    refill: { interval: 'daily', amount: 10, mode: 'add', max: 1000 },
    ratelimits: [{ name: HOSTILE, limit: 100, async: false, used: 0 }],
    meta: LONG_META,
  });
  await page.getByRole('meter').waitFor();
  await at.expectAccessible();
  await at.openDialog('Change credits');
  await page.getByLabel('What to do').selectOption('take');
  await page.getByLabel('Credits', { exact: true }).fill('40');
  await at.isSent('Change');
  await page.getByRole('definition').filter({ hasText: /^60$/ }).waitFor();
  await at.openDialog('Change the plan');
  await page.getByLabel('Plan', { exact: true }).selectOption({ label: 'starter' });
  await page.getByLabel('Credits', { exact: true }).selectOption('reset');
  const other = await server.ok('/v1/plans.createPlan', { name: 'chosen by others' });
  await server.ok('/v1/plans.assign', { externalId: 'acme', planId: other.planId });
  await savesAgain('chosen by others', 'Assign');
  await page.getByRole('definition').filter({ hasText: 'starter' }).waitFor();
  expect(await read()).toMatchObject({ planId });
});

test('warnings and pay as you go are shown and changed, of a key and of its customer', async () => {
  const { apiId } = await server.ok('/v1/apis.createApi', { name: 'warned' });
  const { keyId } = await server.ok('/v1/keys.createKey', { apiId, remaining: 50, externalId: 'warned' });
  const readKey = () => server.ok('/v1/keys.getKey', { keyId });
  await at.goTo(`/keys/${keyId}`);
  await at.openDialog('Edit');
  await page.getByLabel('Alert below this many credits').fill('10');
  await page.getByLabel('Alert this many days before expiry').fill('7');
  await at.expectAccessible();
  await at.isSent('Save');
  await page.getByRole('definition').filter({ hasText: 'below 10 credits, 7 days before it expires' }).waitFor();
  expect(await readKey()).toMatchObject({ alerts: { creditsBelow: 10, expiresWithinMs: 604_800_000 } });
  await at.openDialog('Edit');
  await page.getByLabel('Alert below this many credits').fill('');
  await at.isSent('Save');
  await page
    .getByRole('definition')
    .filter({ hasText: /^7 days before it expires$/ })
    .waitFor();
  expect((await readKey())['alerts']).toEqual({ expiresWithinMs: 604_800_000 });
  await at.openDialog('Edit');
  await page.getByLabel('Pay as you go').selectOption('true');
  await at.isSent('Save');
  await page.getByRole('definition').filter({ hasText: 'without a balance' }).waitFor();
  const metered = await readKey();
  expect([metered['metered'], metered['remaining']]).toEqual([true, undefined]);
  await at.goTo('/customers/warned');
  await at.openDialog('Edit');
  expect(await page.getByLabel('Alert below this many credits').count()).toBe(0);
  await page.getByLabel('Alert this many days before expiry').fill('1');
  await page.getByLabel('Pay as you go').selectOption('true');
  await at.isSent('Save');
  await page.getByRole('definition').filter({ hasText: 'before it expires' }).waitFor();
  const customer = await server.ok('/v1/identities.getIdentity', { externalId: 'warned' });
  expect(customer).toMatchObject({ metered: true, alerts: { expiresWithinMs: 86_400_000 } });
});

test('a form has the focus in its first field as soon as it appears: nothing moves it while somebody types', async () => {
  await server.ok('/v1/identities.createIdentity', { externalId: 'typed' });
  await at.goTo('/customers/typed');
  await at.heading('typed').waitFor();
  // Seen by the page itself, before the browser paints the form.
  await page.evaluate(`new MutationObserver((_, observer) => {
    const first = document.querySelector('dialog[open] form :is(input:not([type="hidden"]), select, textarea)');
    if (first === null) return;
    observer.disconnect();
    document.body.dataset.first = String(document.activeElement === first);
  }).observe(document.body, { childList: true, subtree: true })`);
  await at.openDialog('Edit');
  expect(await page.evaluate('document.body.dataset.first')).toBe('true');
});

test('deleting a customer says what becomes of its keys', async () => {
  const { apiId } = await server.ok('/v1/apis.createApi', { name: 'payments' });
  const { key } = await server.ok('/v1/keys.createKey', { apiId, externalId: 'leaving' });
  await at.goTo('/customers/leaving');
  await at.heading('leaving').waitFor();
  await at.openDialog('Delete the customer');
  await page.getByText('It has 1 key.').waitFor();
  await page.getByLabel('Its keys').selectOption('disable');
  await page.getByLabel('Type leaving to confirm').fill('leaving');
  await at.expectAccessible();
  await at.isSent('Delete the customer');
  await at.heading('Customers').waitFor();
  expect(await server.verify(key as string)).toMatchObject({ code: 'DISABLED' });
});

test('an api is changed, protected from deletion, and deleted', async () => {
  await at.open('Apis');
  await at.openDialog('Create an api');
  await page.getByLabel('Name').fill('invoices');
  await at.isSent('Create');
  await page.getByRole('link', { name: 'invoices' }).click();
  await at.heading('invoices').waitFor();
  const apiId = new URL(page.url()).pathname.split('/').at(-1) ?? '';
  await at.openDialog('Edit');
  await page.getByLabel('Name', { exact: true }).fill(HOSTILE);
  await page.getByLabel('Prefix of new keys').fill('inv');
  await page.getByLabel('Random bytes of new keys').fill('24');
  await page.getByRole('button', { name: 'Add a limit' }).click();
  await page.getByLabel('Deletion').selectOption('true');
  await server.ok('/v1/apis.updateApi', { apiId, defaultPrefix: 'other' });
  await savesAgain('other');
  await at.heading(HOSTILE).waitFor();
  expect(await server.ok('/v1/apis.getApi', { apiId })).toMatchObject({
    name: HOSTILE,
    defaultPrefix: 'inv',
    defaultByteLength: 24,
    defaultRatelimit: { limit: 100, duration: 60_000, async: true },
    deleteProtection: true,
  });
  await at.expectAccessible();
  await at.openDialog('Delete the api');
  await page.getByLabel(`Type ${HOSTILE} to confirm`).fill(HOSTILE);
  await at.send('Delete the api');
  await at.dialog().getByRole('alert').waitFor();
  at.complaints.length = 0;
  await server.ok('/v1/apis.updateApi', { apiId, deleteProtection: false });
  await at.isSent('Delete the api');
  await at.heading('Apis').waitFor();
});

test('a role gets permissions, and a name that does not exist is told in words', async () => {
  await server.ok('/v1/permissions.createPermission', { name: 'documents.write' });
  const { roleId } = await server.ok('/v1/permissions.createRole', { name: 'editor' });
  const permissions = async (): Promise<string[]> => {
    const role = (await server.ok('/v1/permissions.getRole', { roleId })) as { permissions: { name: string }[] };
    return role.permissions.map(({ name }) => name);
  };
  await at.open('Permissions');
  const row = page.getByRole('row').filter({ hasText: 'editor' });
  await row.getByRole('button', { name: 'Permissions' }).click();
  await at.dialog().getByRole('textbox').fill('documents.write\nno.such');
  await at.send('Save');
  await at.dialog().getByRole('alert').getByText('no.such').waitFor();
  at.forgive(404);
  await at.dialog().getByRole('textbox').fill('documents.write');
  await server.ok('/v1/permissions.setRolePermissions', { roleId, permissions: [{ name: 'documents.read' }] });
  await savesAgain('documents.read');
  expect(await permissions()).toEqual(['documents.write']);
});

test('an override is changed', async () => {
  const namespaceName = 'email';
  await server.ok('/v1/ratelimits.limit', { namespace: namespaceName, identifier: 'a', limit: 5, duration: 60_000 });
  const override = { namespaceName, identifier: HOSTILE };
  await server.ok('/v1/ratelimits.setOverride', { ...override, limit: 10, duration: 60_000 });
  await at.open('Limits');
  await page.getByLabel('Namespace').fill(namespaceName);
  await page.keyboard.press('Enter');
  await page.getByRole('cell', { name: HOSTILE, exact: true }).waitFor();
  await at.openDialog('Edit');
  await page.getByLabel('in seconds').fill('30');
  await page.getByLabel('Mode').selectOption('true');
  await server.ok('/v1/ratelimits.setOverride', { ...override, limit: 11, duration: 60_000 });
  await savesAgain('11');
  await page.getByRole('cell', { name: '30 seconds' }).waitFor();
  expect(await server.ok('/v1/ratelimits.getOverride', override)).toMatchObject({
    limit: 11,
    duration: 30_000,
    async: true,
  });
});

test('a webhook is made for some events, changed, and gets another secret', async () => {
  await at.open('Webhooks');
  await at.openDialog('Create a webhook');
  await page.getByLabel('Address').fill('http://127.0.0.1:9/hooks');
  await page.getByLabel('key.created').check();
  await at.isSent('Create');
  await page.getByText('Sends key.created.').waitFor();
  const { webhooks } = (await server.ok('/v1/webhooks.listWebhooks', {})) as { webhooks: { id: string }[] };
  const webhookId = webhooks[0]?.id ?? '';
  await at.openDialog('Edit');
  await page.getByLabel('credits.low').check();
  await page.getByLabel('Events are').selectOption('false');
  await server.ok('/v1/webhooks.updateWebhook', { webhookId, url: 'http://127.0.0.1:9/theirs' });
  await savesAgain('http://127.0.0.1:9/theirs');
  await page.getByText('Sends key.created, credits.low.').waitFor();
  expect(await server.ok('/v1/webhooks.getWebhook', { webhookId })).toMatchObject({
    url: 'http://127.0.0.1:9/theirs',
    events: ['key.created', 'credits.low'],
    enabled: false,
  });
  const before = await page.getByRole('status').locator('code').innerText();
  await at.openDialog('Rotate the secret');
  await at.isSent('Rotate');
  await page.getByRole('status').locator('code').filter({ hasNotText: before }).waitFor();
  await at.expectAccessible();
});

test('a key is made with metadata, which is refused in words when it is no JSON', async () => {
  await at.open('Keys');
  await page.getByRole('link', { name: 'Create a key' }).click();
  await page.getByLabel('Name').fill(HOSTILE);
  await page.getByLabel('Metadata').fill('no json');
  await page.getByRole('button', { name: 'Create the key' }).click();
  await page.getByText('The metadata is not valid JSON').waitFor();
  await page.getByLabel('Metadata').fill(JSON.stringify(LONG_META));
  await page.getByRole('button', { name: 'Create the key' }).click();
  await at.heading('The key was created').waitFor();
  await page.getByRole('link', { name: 'Open the key' }).click();
  await at.heading(HOSTILE).waitFor();
  await page.goBack();
  await page.goBack();
  await at.heading('Keys').waitFor();
});
