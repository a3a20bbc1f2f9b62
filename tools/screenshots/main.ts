import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';

import { makeHandler } from '../../src/http/router.ts';
import { launchBrowser } from '../../test/browser/chromium.ts';
import { TestService } from '../../test/support/service.ts';
import { DAYS, makeSample, type Sample } from './sampleData.ts';

const FOLDER = join(import.meta.dir, '../../docs/pictures');
const SIZE = { width: 1200, height: 1000 };
const THEMES = ['light', 'dark'] as const;

/** Makes the pictures of docs/dashboard.md from the pages as they are: with a service in this process, and a month of sample data. */
async function main(): Promise<void> {
  const settings = { KEYSTILE_PORTAL_NAME: 'Weather API', KEYSTILE_PORTAL_COLOR: '#0f766e' };
  const service = await TestService.start({ startsAt: Date.now() - DAYS * 86_400_000 - 30 * 60_000, settings });
  console.log('Making a month of sample data ...');
  const sample = await makeSample(service);
  const handle = makeHandler(service.composed.service);
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: (request) => handle(request, () => '127.0.0.1') });
  const browser = await launchBrowser();
  try {
    mkdirSync(FOLDER, { recursive: true });
    for (const theme of THEMES) await takeAll(browser, service, { url: server.url.origin, theme, sample });
  } finally {
    await browser.close();
    await server.stop(true);
    await service.close();
  }
}

async function takeAll(
  browser: Browser,
  service: TestService,
  { url, theme, sample }: { url: string; theme: (typeof THEMES)[number]; sample: Sample },
): Promise<void> {
  const options = {
    baseURL: url,
    colorScheme: theme,
    locale: 'en-GB',
    viewport: SIZE,
    reducedMotion: 'reduce' as const,
  };
  const page = await (await browser.newContext(options)).newPage();
  const take = async (name: string, from: Page): Promise<void> => {
    await from.waitForLoadState('networkidle');
    const path = join(FOLDER, `${name}-${theme}.png`);
    await from.screenshot({ path });
    console.log(path);
  };
  await page.goto('/dashboard');
  await page.getByLabel('Root key').fill(service.rootKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  await page.getByRole('button', { name: 'I have done this' }).click();
  await page.getByRole('button', { name: 'Last 30 days' }).click();
  await page.getByRole('heading', { name: 'Top keys' }).waitFor();
  await page.evaluate('scrollTo(0, 0)');
  await take('overview', page);
  for (const [name, path] of [
    ['key', `/dashboard/keys/${sample.keyId}`],
    ['customer', `/dashboard/customers/${sample.customer}`],
  ] as const) {
    await page.goto(path);
    await take(name, page);
  }
  const asked = { externalId: sample.customer, apiId: sample.apiId, allow: ['create', 'rotate', 'delete'] };
  const link = (await service.ok('/v1/portal.createSession', asked)) as { url: string };
  await page.goto(`/portal${new URL(link.url).hash}`);
  await page.getByRole('heading', { name: 'Your keys' }).waitFor();
  await take('portal', page);
  await page.context().close();
}

await main();
