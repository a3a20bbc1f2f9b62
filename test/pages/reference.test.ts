import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import type { Browser, Locator, Page } from 'playwright-core';

import { GUIDES } from '../../src/http/docs/site.ts';
import { ROUTES } from '../../src/http/routes/routeTable.ts';
import { TempFolder } from '../process/process.ts';
import { Server } from '../process/server.ts';
import { launchBrowser } from '../browser/chromium.ts';
import { visit } from '../browser/visit.ts';

let folder: TempFolder;
let server: Server;
let browser: Browser;
/** One page shows the reference in all tests: loading it is what takes long. */
let reference: Page;
let complaints: readonly string[];

beforeAll(async () => {
  folder = new TempFolder();
  [server, browser] = await Promise.all([Server.start(folder), launchBrowser()]);
  ({ page: reference, complaints } = await visit(browser, server.url));
  await reference.goto('/docs#keys.verifyKey');
  await isAtTop(reference, 'keys.verifyKey');
});

afterAll(async () => {
  await browser.close();
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** The viewer cancels a request when it sends another one instead, and a busy machine lets it get that far. */
const CANCELLED = 'error: AbortError: The user aborted a request.';

/** Nothing is asked of another host, nothing is stopped by the policy, and nothing is wrong in the console. */
afterEach(() => {
  expect(complaints.filter((each) => each !== CANCELLED)).toEqual([]);
});

const heading = (page: Page, name: string): Locator => page.getByRole('heading', { name, exact: true });

/** Waits until the place of an operation is at the top of the window. */
async function isAtTop(page: Page, name: string): Promise<void> {
  const element = await heading(page, name).elementHandle();
  await page.waitForFunction((each) => {
    const { top } = (each as unknown as { getBoundingClientRect(): { top: number } }).getBoundingClientRect();
    return top >= 0 && top < 400;
  }, element);
}

/** The dialog in which a call is tried, with the cursor behind everything that was typed in before. */
async function tryOut(call: string): Promise<Locator> {
  await reference.getByRole('button', { name: `Test Request (${call})`, exact: true }).click();
  return reference.getByRole('dialog');
}

const kept = (): Promise<unknown> => reference.evaluate('JSON.stringify([localStorage, sessionStorage])');

test('a call can be tried: verifyKey of a real key shows its verdict, and the browser stores no secret', async () => {
  const { key } = await server.createKey({ remaining: 3 });
  const dialog = await tryOut('post /v1/keys.verifyKey');
  await dialog.locator('.cm-content').filter({ hasText: 'demo_' }).first().click();
  await reference.keyboard.press('ControlOrMeta+a');
  await reference.keyboard.insertText(JSON.stringify({ key }));
  await dialog.getByRole('button', { name: /^Send/ }).first().click();
  await dialog.getByText('"VALID"', { exact: true }).waitFor();
  const shown = (await dialog.innerText()).replaceAll(/\s+/g, ' ');
  expect([shown, shown]).toEqual([expect.stringContaining('200 OK'), expect.stringContaining('"remaining": 2')]);
  expect((await server.verify(key)).remaining).toBe(1);
  expect(await kept()).not.toContain(key);
  // The root key that is typed in is sent, and nowhere stored.
  await dialog.getByPlaceholder('Token').first().click();
  await reference.keyboard.insertText(server.rootKey);
  const sent = reference.waitForRequest('**/v1/keys.verifyKey');
  const answered = reference.waitForResponse('**/v1/keys.verifyKey');
  await dialog.getByRole('button', { name: /^Send/ }).first().click();
  expect((await sent).headers()['authorization']).toBe(`Bearer ${server.rootKey}`);
  expect(await kept()).not.toContain(server.rootKey);
  // A request under way is cancelled when the dialog closes.
  await (await answered).finished();
  await reference.keyboard.press('Escape');
  await dialog.waitFor({ state: 'hidden' });
});

test('curl and TypeScript are shown for a call, with the address of this service', async () => {
  const section = reference.locator('section', { has: heading(reference, 'keys.verifyKey') }).last();
  await section.getByText(`curl '${server.url}/v1/keys.verifyKey'`).waitFor();
  await section.getByRole('button', { name: 'curl' }).click();
  await reference.getByRole('option', { name: 'TypeScript' }).click();
  await section.getByText('await keystile.verify(').waitFor();
});

test('search finds a call and leads to it', async () => {
  await reference.keyboard.press('ControlOrMeta+k');
  await reference.keyboard.insertText('updateRemaining');
  await reference.getByRole('option', { name: /keys\.updateRemaining/ }).click();
  await isAtTop(reference, 'keys.updateRemaining');
  expect(new URL(reference.url()).hash).toBe('#tag/keys/keys.updateRemaining');
});

test('every call is listed by its name, in its group', async () => {
  const closed = reference.locator('[data-sidebar-id] button[aria-expanded="false"]');
  await closed.evaluateAll((buttons) => buttons.forEach((each) => (each as unknown as { click(): void }).click()));
  await closed.waitFor({ state: 'detached' });
  const links = await reference.locator('[data-sidebar-id] a').evaluateAll((all) => all.map((each) => String(each)));
  const places = new Set(links.map((link) => new URL(link).hash));
  const names = ROUTES.map(({ path }) => path.replace('/v1/', ''));
  expect(names.filter((name) => !places.has(`#tag/${name.split('.')[0]}/${name}`))).toEqual([]);
});

test('the reference leads to a guide, and the guide back to a call', async () => {
  await reference.getByRole('link', { name: 'Read the guide' }).first().click();
  await heading(reference, 'Keys').waitFor();
  expect(new URL(reference.url()).pathname).toBe('/docs/guides/keys');
  await reference.getByRole('link', { name: '/v1/keys.createKey', exact: true }).first().click();
  await isAtTop(reference, 'keys.createKey');
});

test('on a phone, no guide is wider than the screen, and its images are shown', async () => {
  const { page, complaints: found } = await visit(browser, server.url, { viewport: { width: 360, height: 740 } });
  const tooWide: string[] = [];
  for (const path of ['/', '/docs/errors', '/docs/guides', ...GUIDES.map((guide) => `/docs/guides/${guide}`)]) {
    await page.goto(path);
    if (await page.evaluate('document.documentElement.scrollWidth > innerWidth')) tooWide.push(path);
    const images = 'Array.from(document.images).every(({ complete, naturalWidth }) => complete && naturalWidth > 0)';
    expect([path, await page.evaluate(images)]).toEqual([path, true]);
  }
  expect([tooWide, found]).toEqual([[], []]);
});
