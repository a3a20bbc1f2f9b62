import { expect } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';

import { until } from '../../tools/cluster/wait.ts';
import { TempFolder } from '../process/process.ts';
import { Server } from '../process/server.ts';
import { launchBrowser } from './chromium.ts';
import { type Visit, visit } from './visit.ts';

const AXE = readFileSync(join(import.meta.dir, '../../node_modules/axe-core/axe.min.js'), 'utf8');

/** Every name that somebody else can choose is shown as text, whatever it contains. */
export const HOSTILE = `<img src=x onerror="document.title='broken'"> "'</script> مرحبا`;

/** A service, a browser, and its page at the dashboard. */
export class DashboardVisit implements AsyncDisposable {
  readonly server: Server;
  readonly browser: Browser;
  readonly page: Page;
  /** What must not happen: see Visit. */
  readonly complaints: string[];
  readonly #folder: TempFolder;

  private constructor(folder: TempFolder, server: Server, browser: Browser, { page, complaints }: Visit) {
    this.#folder = folder;
    this.server = server;
    this.browser = browser;
    this.page = page;
    this.complaints = complaints;
  }

  static async begin(settings: Record<string, string> = {}): Promise<DashboardVisit> {
    const folder = new TempFolder();
    const [server, browser] = await Promise.all([Server.start(folder, { settings }), launchBrowser()]);
    const visited = await visit(browser, server.url, { locale: 'en-GB' });
    const { page } = visited;
    page.setDefaultTimeout(15_000);
    await page.goto('/dashboard');
    await page.getByLabel('Root key').waitFor();
    return new DashboardVisit(folder, server, browser, visited);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
    await this.server[Symbol.asyncDispose]();
    this.#folder[Symbol.dispose]();
  }

  heading(name: string | RegExp): Locator {
    return this.page.getByRole('heading', { name, level: 1 });
  }

  /** A link of the menu. */
  open(name: string): Promise<void> {
    const menu = this.page.getByRole('navigation', { name: 'Main' });
    return menu.getByRole('link', { name, exact: true }).click();
  }

  /** As a link inside of the dashboard. A page that is loaded anew would break off its requests, which counts as a complaint. */
  async goTo(path: string): Promise<void> {
    const address = JSON.stringify(`/dashboard${path}`);
    await this.page.evaluate(`history.pushState(null, '', ${address}); dispatchEvent(new PopStateEvent('popstate'))`);
  }

  dialog(): Locator {
    return this.page.getByRole('dialog');
  }

  /** Opens a dialog with its button: the first one with this name, or the one inside of `place`. */
  async openDialog(name: string, place: Locator | Page = this.page): Promise<void> {
    await place.getByRole('button', { name, exact: true }).first().click();
    await this.dialog().waitFor();
    await this.hasLoaded();
  }

  async send(name: string): Promise<void> {
    await this.dialog().getByRole('button', { name, exact: true }).click();
  }

  /** Sends the form of the dialog, which then closes. */
  async isSent(name: string): Promise<void> {
    await this.send(name);
    await this.dialog().waitFor({ state: 'hidden' });
  }

  hasTitle(name: string): Promise<void> {
    return until(`the page ${name} is shown`, async () => (await this.page.title()) === `${name} · Keystile`);
  }

  hasLoaded(): Promise<void> {
    return until('all has loaded', async () => (await this.page.locator('.loading').count()) === 0);
  }

  /** Without a root key: with the one that may do everything. */
  async signIn(rootKey: string = this.server.rootKey): Promise<void> {
    await this.page.getByLabel('Root key').fill(rootKey);
    await this.page.getByRole('button', { name: 'Sign in' }).click();
  }

  /** The browser reports a refusal as an error of its own. */
  forgive(status: number): void {
    expect(this.complaints.splice(0).filter((each) => !each.includes(String(status)))).toEqual([]);
  }

  /** What a checker of accessibility finds wrong, in both themes. The policy of the page stops no script that the test evaluates. */
  async expectAccessible(page = this.page): Promise<void> {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.evaluate(AXE);
      const found = (await page.evaluate('axe.run()')) as {
        violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
      };
      const wrong = found.violations.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => ({ id, html, failureSummary })),
      );
      expect(wrong).toEqual([]);
    }
  }
}
