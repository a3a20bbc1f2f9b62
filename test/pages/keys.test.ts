import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';

import { DashboardVisit, HOSTILE } from '../browser/dashboardVisit.ts';
import { until } from '../../tools/cluster/wait.ts';
import type { Server } from '../process/server.ts';

/** Ten thousand characters of metadata, and one that looks like markup. */
const LONG_META = { note: HOSTILE, text: 'long '.repeat(2_000) };

let at: DashboardVisit;
let page: Page;
let server: Server;
let apiId: string;
let made: { readonly keyId: string; readonly key: string };

beforeAll(async () => {
  at = await DashboardVisit.begin();
  ({ page, server } = at);
  ({ apiId } = (await server.ok('/v1/apis.createApi', { name: 'payments' })) as { apiId: string });
  made = await create({
    name: 'first',
    remaining: 10,
    refill: { interval: 'monthly', amount: 100 },
    ratelimit: { limit: 5, duration: 3_600_000, async: false },
    externalId: 'acme',
  });
  await at.signIn();
  await at.heading('Overview').waitFor();
});

afterAll(() => at[Symbol.asyncDispose]());

afterEach(() => {
  expect(at.complaints).toEqual([]);
});

async function create(fields: object): Promise<{ keyId: string; key: string }> {
  return (await server.ok('/v1/keys.createKey', { apiId, ...fields })) as { keyId: string; key: string };
}

async function openKey(keyId = made.keyId): Promise<void> {
  await at.goTo(`/keys/${keyId}`);
  await page.getByRole('button', { name: 'Edit', exact: true }).waitFor();
}

/** Opens the dialog of a button, and sends its form with another. */
async function fillDialog(name: string, send: string, fill: () => Promise<unknown>): Promise<void> {
  await page.getByRole('button', { name, exact: true }).first().click();
  await fill();
  await page.getByRole('dialog').getByRole('button', { name: send, exact: true }).click();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
}

const readKey = (keyId = made.keyId) => server.ok('/v1/keys.getKey', { keyId });

test('the page of a key shows its balance, each limit with its count, and its statement', async () => {
  for (let i = 0; i < 3; i++) await server.verify(made.key);
  await openKey();
  await page.getByRole('heading', { name: 'Credits of the key' }).waitFor();
  await page.getByRole('definition').filter({ hasText: /^7$/ }).waitFor();
  // Seven are left, and three were spent today.
  const { refill } = (await readKey()) as { refill: { nextRefillAt: number } };
  const endsAtMs = Date.now() + (7 / 3) * 86_400_000;
  await page.getByText(endsAtMs < refill.nextRefillAt ? 'around' : 'not at the current rate').waitFor();
  const meter = page.getByRole('meter', { name: 'Used of the limit default' });
  expect(await meter.getAttribute('aria-valuenow')).toBe('3');
  expect(await meter.getAttribute('aria-valuetext')).toBe('3 of 5');
  const left = page.getByText('Resets in');
  const before = await left.innerText();
  await until('the time runs down', async () => (await left.innerText()) !== before);
  await page.locator('summary').filter({ hasText: 'Statement by day' }).click();
  await page.getByRole('cell', { name: '7', exact: true }).waitFor();
  await at.expectAccessible();
});

test('credits are added to what is there, not written over it', async () => {
  await openKey();
  await fillDialog('Change credits', 'Change', () => page.getByLabel('Credits', { exact: true }).fill('5'));
  await page.getByRole('definition').filter({ hasText: /^12$/ }).waitFor();
  expect(await readKey()).toMatchObject({ remaining: 12 });
});

test('every field of a key can be changed, with hostile names and ten thousand characters of metadata', async () => {
  for (const name of ['documents.read', 'documents.write'])
    await server.ok('/v1/permissions.createPermission', { name });
  await server.ok('/v1/permissions.createRole', { name: HOSTILE });
  await openKey();
  await fillDialog('Edit', 'Save', async () => {
    await page.getByLabel('Name', { exact: true }).first().fill(HOSTILE);
    await page.getByLabel('Expires').fill('2040-01-02T03:04');
    await page.getByLabel('When').selectOption('weekly');
    await page.getByLabel('Refill to').fill('50');
    await page.getByLabel('Day of the week').selectOption('5');
    await page.getByRole('button', { name: 'Add a limit' }).click();
    await page.getByRole('group', { name: 'Limit 2' }).getByLabel('Requests', { exact: true }).fill('7');
    await page.getByLabel('Roles').fill(HOSTILE);
    await page.getByLabel('Permissions').fill('documents.read\ndocuments.write');
    await page.getByLabel('Addresses').fill('10.0.0.0/8');
    await page.getByLabel('Environment').fill(HOSTILE);
    await page.getByLabel('Metadata').fill(JSON.stringify(LONG_META));
    await at.expectAccessible();
  });
  await at.heading(HOSTILE).waitFor();
  expect(await readKey()).toMatchObject({
    name: HOSTILE,
    expires: new Date('2040-01-02T03:04').getTime(),
    remaining: 12,
    refill: { interval: 'weekly', amount: 50, refillWeekday: 5 },
    ratelimit: { limit: 5, duration: 3_600_000, async: false, used: 3 },
    ratelimits: [{ name: 'requests', limit: 7, duration: 60_000, async: true }],
    roles: [HOSTILE],
    directPermissions: ['documents.read', 'documents.write'],
    ipAllowlist: ['10.0.0.0/8'],
    environment: HOSTILE,
    meta: LONG_META,
    ownerId: 'acme',
  });
  await page.getByText('Metadata', { exact: true }).click();
  await page.getByText('long long').waitFor();
  await at.expectAccessible();
});

test('metadata that is no JSON is explained, and what was typed stays', async () => {
  await openKey();
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByLabel('Metadata').fill('{"team": }');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The metadata is not valid JSON').waitFor();
  await page.getByLabel('Metadata').fill('["a list"]');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The metadata must be a JSON object').waitFor();
  expect(await page.getByLabel('Metadata').inputValue()).toBe('["a list"]');
  await page.getByRole('button', { name: 'Close' }).click();
});

test('what somebody else changes meanwhile is shown, and only overwritten when asked again', async () => {
  await server.ok('/v1/keys.updateKey', { keyId: made.keyId, name: 'before', environment: 'test' });
  await openKey();
  await at.heading('before').waitFor();
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await page.getByLabel('Name', { exact: true }).first().fill('mine');
  await server.ok('/v1/keys.updateKey', { keyId: made.keyId, name: 'theirs', environment: HOSTILE });
  await page.getByRole('button', { name: 'Save' }).click();
  const notice = page.getByRole('alert').filter({ hasText: 'Someone else has changed this' });
  await notice.getByText('theirs', { exact: true }).waitFor();
  await notice.getByText(HOSTILE).waitFor();
  expect(await readKey()).toMatchObject({ name: 'theirs', environment: HOSTILE });
  expect(await page.getByLabel('Name', { exact: true }).first().inputValue()).toBe('mine');
  expect(await page.getByLabel('Environment').inputValue()).toBe(HOSTILE);
  await at.expectAccessible();
  await page.getByRole('button', { name: 'Save anyway' }).click();
  await at.heading('mine').waitFor();
  expect(await readKey()).toMatchObject({ name: 'mine', environment: HOSTILE });
});

test('a field that an input cannot show as it is stays as it is', async () => {
  const odd = { name: 'two\nlines', expires: Date.UTC(12_000, 1, 1) };
  const { keyId } = await create({ ...odd, environment: 'before' });
  await openKey(keyId);
  await fillDialog('Edit', 'Save', () => page.getByLabel('Environment').fill('after'));
  expect(await readKey(keyId)).toMatchObject({ ...odd, environment: 'after' });
  await openKey();
  await server.ok('/v1/keys.deleteKey', { keyId, permanent: true });
});

test('a key is rotated with an overlap, disabled, and enabled again', async () => {
  const { keyId, key } = await create({ name: 'turning' });
  await openKey(keyId);
  await fillDialog('Rotate', 'Rotate', () =>
    page.getByLabel('The old secret stays valid for').selectOption({ label: 'an hour' }),
  );
  const secret = await page.getByRole('status').locator('code').innerText();
  expect(await server.verify(secret)).toMatchObject({ valid: true });
  expect(await server.verify(key)).toMatchObject({ valid: true });
  await fillDialog('Disable', 'Disable the key', async () => {});
  await page.getByText('Disabled', { exact: true }).waitFor();
  expect(await server.verify(secret)).toMatchObject({ code: 'DISABLED' });
  await fillDialog('Enable', 'Enable the key', async () => {});
  await page.getByText('Active', { exact: true }).waitFor();
});

test('a key without a customer gets a plan of its own', async () => {
  const { planId } = await server.ok('/v1/plans.createPlan', { name: HOSTILE, remaining: 40 });
  const { keyId } = await create({ name: 'holder' });
  await openKey(keyId);
  await fillDialog('Change the plan', 'Assign', () =>
    page.getByLabel('Plan', { exact: true }).selectOption({ label: HOSTILE }),
  );
  await page.getByRole('definition').filter({ hasText: HOSTILE }).waitFor();
  expect(await readKey(keyId)).toMatchObject({ planId, remaining: 40 });
});

test('what is chosen as soon as a form appears is sent', async () => {
  const { planId } = await server.ok('/v1/plans.createPlan', { name: 'quick', remaining: 40 });
  const { keyId } = await create({ name: 'hurried' });
  await openKey(keyId);
  // Chosen by the page itself, before the browser paints the form.
  await page.evaluate(`new MutationObserver((_, observer) => {
    const select = document.querySelector('select[name="planId"]');
    if (select === null) return;
    observer.disconnect();
    select.value = ${JSON.stringify(planId)};
    select.dispatchEvent(new Event('change', { bubbles: true }));
  }).observe(document.body, { childList: true, subtree: true })`);
  await fillDialog('Change the plan', 'Assign', async () => {
    await page.getByLabel('Plan', { exact: true }).waitFor();
    expect(await page.getByLabel('Plan', { exact: true }).inputValue()).toBe(String(planId));
  });
  await page.getByRole('definition').filter({ hasText: 'quick' }).waitFor();
  expect(await readKey(keyId)).toMatchObject({ planId, remaining: 40 });
});

test('deleting asks for the name, and can be undone at once', async () => {
  const { keyId, key } = await create({ name: 'short-lived' });
  await openKey(keyId);
  const { start } = (await readKey(keyId)) as { start: string };
  await page.getByRole('button', { name: 'Delete the key' }).click();
  await page.getByLabel(`Type ${start} to confirm`).fill('something else');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete the key' }).click();
  await page.getByRole('alert').getByText(`Type ${start} to confirm.`).waitFor();
  await page.getByLabel(`Type ${start} to confirm`).fill(start);
  await page.getByRole('dialog').getByRole('button', { name: 'Delete the key' }).click();
  await at.heading('Key not found').waitFor();
  expect(await server.verify(key)).toMatchObject({ code: 'NOT_FOUND' });
  at.forgive(404);
  await at.expectAccessible();
  await page.getByRole('button', { name: 'Restore the key' }).click();
  await at.heading('short-lived').waitFor();
  expect(await server.verify(key)).toMatchObject({ valid: true });
  await page.locator('summary').filter({ hasText: 'Changes' }).click();
  await page.getByRole('cell', { name: 'key.restore' }).waitFor();
});

test('the table is filtered by state, plan, customer and words, and the back button undoes a filter', async () => {
  const off = await create({ name: 'switched off' });
  await server.ok('/v1/keys.updateKey', { keyId: off.keyId, enabled: false });
  const old = await create({ name: 'gone by' });
  await server.ok('/v1/keys.updateKey', { keyId: old.keyId, expires: Date.now() - 1_000 });
  await at.open('Keys');
  const shows = (expected: readonly string[]): Promise<void> =>
    until(`the table shows ${expected.join(', ')}`, async () =>
      Bun.deepEquals(await page.locator('tbody td:first-child').allInnerTexts(), expected),
    );
  await shows(['mine', 'turning', 'holder', 'hurried', 'short-lived', 'switched off', 'gone by']);
  await page.getByLabel('State').selectOption('disabled');
  await shows(['switched off']);
  await page.getByLabel('State').selectOption('expired');
  await shows(['gone by']);
  await page.getByLabel('State').selectOption('active');
  await shows(['mine', 'turning', 'holder', 'hurried', 'short-lived']);
  await page.getByLabel('Plan', { exact: true }).selectOption({ label: HOSTILE });
  await shows(['holder']);
  await at.expectAccessible();
  await page.goBack();
  await shows(['mine', 'turning', 'holder', 'hurried', 'short-lived']);
  await page.getByLabel('State').selectOption('');
  await page.getByLabel('Customer').fill('acme');
  await page.keyboard.press('Enter');
  await shows(['mine']);
  await page.getByLabel('Customer').fill('');
  await page.getByLabel('Search').fill('switch');
  await page.keyboard.press('Enter');
  await shows(['switched off']);
  await page.goBack();
  await page.goBack();
  await shows(['mine']);
  expect(await page.getByLabel('Customer').inputValue()).toBe('acme');
  expect(await page.getByLabel('Search').inputValue()).toBe('');
});

test('a page of 360 pixels does not scroll sideways', async () => {
  await page.setViewportSize({ width: 360, height: 800 });
  const { apiId: hostileApi } = await server.ok('/v1/apis.createApi', { name: HOSTILE });
  const plans = (await server.ok('/v1/plans.listPlans', {})) as { plans: { id: string }[] };
  const paths = ['/keys', '/keys/new', `/keys/${made.keyId}`, `/apis/${hostileApi}`, '/customers/acme'];
  for (const path of [...paths, '/plans', `/plans/${plans.plans[0]?.id}`, '/permissions', '/webhooks', '/limits']) {
    await at.goTo(path);
    await at.hasLoaded();
    expect([path, await page.evaluate('document.documentElement.scrollWidth <= innerWidth')]).toEqual([path, true]);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
});
