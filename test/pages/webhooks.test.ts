import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';

import { DashboardVisit, HOSTILE } from '../browser/dashboardVisit.ts';
import { until } from '../../tools/cluster/wait.ts';

/** A path that looks like markup. */
const HOSTILE_PATH = '/%3Cimg%20src=x%20onerror=alert(1)%3E';

let at: DashboardVisit;
let page: Page;
const got: { readonly path: string; readonly type: unknown }[] = [];
/** The target answers once this is settled. */
let mayAnswer = Promise.resolve();
const sink = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const { type } = (await request.json()) as { type: unknown };
    got.push({ path: new URL(request.url).pathname, type });
    await mayAnswer;
    return new Response('');
  },
});

beforeAll(async () => {
  at = await DashboardVisit.begin({ KEYSTILE_WEBHOOK_ALLOW_PRIVATE: 'on' });
  ({ page } = at);
  await at.signIn();
  await at.heading('Overview').waitFor();
});

afterAll(async () => {
  await at[Symbol.asyncDispose]();
  await sink.stop(true);
});

afterEach(() => {
  expect(at.complaints).toEqual([]);
});

const hasArrived = (count: number): Promise<void> =>
  until(`${count} events have arrived`, async () => got.length === count);

test('a webhook is bound to an api that is chosen by its name, and unbound again', async () => {
  const { apiId } = (await at.server.ok('/v1/apis.createApi', { name: HOSTILE })) as { apiId: string };
  await at.open('Webhooks');
  await at.openDialog('Create a webhook');
  await page.getByLabel('Address').fill(`http://127.0.0.1:${sink.port}/bound`);
  await page.getByLabel(HOSTILE).check();
  await at.expectAccessible();
  await at.isSent('Create');
  await page.getByText(`Sends all events of ${apiId}.`).waitFor();
  await at.openDialog('Edit');
  await page.getByLabel(HOSTILE).uncheck();
  await at.isSent('Save');
  await page.getByText('Sends all events.').waitFor();
  const { webhooks } = (await at.server.ok('/v1/webhooks.listWebhooks', {})) as { webhooks: { id: string }[] };
  await at.openDialog('Delete');
  await page.getByLabel('to confirm').fill(webhooks[0]?.id ?? '');
  await at.isSent('Delete');
  await page.getByText('There are no webhooks yet.').waitFor();
});

test('a webhook is created, gets a test event, gets it again, is changed and deleted', async () => {
  await at.open('Webhooks');
  await page.getByText('There are no webhooks yet.').waitFor();
  await at.openDialog('Create a webhook');
  await page.getByLabel('Address').and(page.locator(':focus')).waitFor();
  await page.getByLabel('Address').fill(`http://127.0.0.1:${sink.port}${HOSTILE_PATH}`);
  await at.expectAccessible();
  await at.isSent('Create');
  await page.getByText('Sends all events.').waitFor();
  await page.locator('summary').filter({ hasText: 'Deliveries' }).click();
  await page.getByText('Nothing has been sent yet.').waitFor();
  const held = Promise.withResolvers<void>();
  mayAnswer = held.promise;
  await page.getByRole('button', { name: 'Send a test event' }).click();
  await page.getByRole('status').filter({ hasText: 'Queued. Its delivery shows the result.' }).waitFor();
  const row = page.getByRole('row').filter({ hasText: 'webhook.test' });
  await row.getByText('waiting').waitFor();
  await hasArrived(1);
  // While it is being sent, the table is read again and again.
  const isRead = (): Promise<unknown> => page.waitForResponse((answer) => answer.url().endsWith('listDeliveries'));
  await isRead();
  await isRead();
  held.resolve();
  await row.getByText('delivered').waitFor();
  await at.expectAccessible();
  await row.getByRole('button', { name: 'Send again' }).click();
  await row.getByRole('status').filter({ hasText: 'Queued.' }).waitFor();
  await hasArrived(2);
  await row.getByText('delivered').waitFor();
  expect(got).toEqual([1, 2].map(() => ({ path: HOSTILE_PATH, type: 'webhook.test' })));
  await at.expectAccessible();

  await at.openDialog('Edit');
  await page.getByLabel('Address').fill(`http://127.0.0.1:${sink.port}/changed`);
  await page.getByLabel('key.created').check();
  await at.isSent('Save');
  await page.getByText('Sends key.created.').waitFor();
  await at.server.createKey({ name: 'told' });
  await hasArrived(3);
  expect(got.at(-1)).toEqual({ path: '/changed', type: 'key.created' });

  await at.openDialog('Delete');
  await page.getByLabel('to confirm').fill('another name');
  await at.send('Delete');
  await at.dialog().getByRole('alert').waitFor();
  const { webhooks } = (await at.server.ok('/v1/webhooks.listWebhooks', {})) as { webhooks: { id: string }[] };
  await page.getByLabel('to confirm').fill(webhooks[0]?.id ?? '');
  await at.isSent('Delete');
  await page.getByText('There are no webhooks yet.').waitFor();
});
