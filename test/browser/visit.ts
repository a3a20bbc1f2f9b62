import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

/** A page that remembers everything that must not happen on it. */
export interface Visit {
  readonly page: Page;
  /** Requests to other hosts, errors and warnings of the console, exceptions, and what the Content-Security-Policy has stopped. */
  readonly complaints: string[];
}

export async function visit(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext({ baseURL: url, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(`${url}/`)) complaints.push(`asks ${request.url()}`);
  });
  page.on('requestfailed', (request) => {
    // Another page was opened meanwhile.
    if (request.failure()?.errorText !== 'net::ERR_ABORTED') complaints.push(`fails to load ${request.url()}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.url()} answers ${response.status()}`);
  });
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`throws ${error.message}`));
  await page.exposeFunction('complainOfPolicy', (what: string) => complaints.push(`policy stops ${what}`));
  await page.addInitScript(`document.addEventListener('securitypolicyviolation', (event) =>
    complainOfPolicy(event.violatedDirective + ' ' + event.blockedURI));`);
  return { page, complaints };
}
