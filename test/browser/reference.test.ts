import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { launchBrowser } from './chromium.ts';
let browser: Browser;
beforeAll(async () => { browser = await launchBrowser(); });
afterAll(async () => { await browser.close(); });
test('x', async () => {
  const page = await browser.newPage();
  await page.goto('http://127.0.0.1:7991/docs');
  await page.getByText('keys.verifyKey').first().waitFor();
  expect(await page.title()).toBe('Keystile API');
});
