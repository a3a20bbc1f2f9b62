import { strictEqual } from 'node:assert';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

import { Keystile } from '@keystile/sdk';

import { startService } from '../clients/service.mjs';
import { fromProjectRoot } from '../launch/project.mjs';
import { freePort, Program } from './program.mjs';

const SHOWN_URL = 'http://127.0.0.1:7878';
const SHOWN_PORT = '3000';

/** A service with an api. All of it ends with the tests. */
export async function startKeystile() {
  const service = await startService();
  after(() => service.stop());
  const { url, rootKey, pasted } = service;
  const keystile = new Keystile({ url, rootKey, timeoutMs: 60_000, totalTimeoutMs: 60_000 });
  const { apiId } = await keystile.apis.create({ name: 'examples' });
  const newKey = async (fields = {}) => (await keystile.keys.create({ apiId, ...fields })).key;
  return { url, rootKey, pasted, newKey };
}

/** A copy of an example in an empty folder, with the clients where they are in a checkout. It takes packages from the service at `url`. */
export function copyOf(name, url) {
  const top = emptyFolder();
  const folder = join(top, 'examples', name);
  cpSync(fromProjectRoot(`examples/${name}`), folder, { recursive: true, filter: isSource });
  cpSync(fromProjectRoot('clients'), join(top, 'clients'), { recursive: true, filter: isSource });
  for (const needed of ['package.json', 'requirements.txt'].map((file) => join(folder, file)).filter(existsSync))
    writeFileSync(needed, readFileSync(needed, 'utf8').replaceAll(SHOWN_URL, url));
  return folder;
}

export function emptyFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'keystile-example-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** What an installation has left in a checkout is not copied. */
function isSource(path) {
  return !/\/(node_modules|\.next|\.venv|\.tools|__pycache__)$/.test(path);
}

/** The blocks of a page in this language, in order. */
export function blocksIn(page, language) {
  return [...page.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].flatMap(([, shown, text]) =>
    shown === language ? [text] : [],
  );
}

/** Starts an example with the commands of its README, and tests the request that stands there. `ask` sends more of them. */
export async function startExample(name) {
  const keystile = await startKeystile();
  const folder = copyOf(name, keystile.url);
  const port = await freePort();
  const readme = readFileSync(join(folder, 'README.md'), 'utf8');
  const [commands] = blocksIn(readme, 'sh');
  const lines = commands.replaceAll(SHOWN_URL, keystile.url).replaceAll(SHOWN_PORT, String(port));
  const program = new Program({ folder, lines, environment: { PORT: String(port) } });
  after(() => program.stop());
  await program.listens(port);
  const ask = asker(`http://127.0.0.1:${port}`);
  testShownRequest({ readme, ask, newKey: keystile.newKey });
  return { ...keystile, program, ask };
}

/** The path of the README leads to the route, with a key that may do everything. */
export function testShownRequest({ readme, ask, newKey }) {
  const [, path] =
    /^curl -i "?http:\/\/127\.0\.0\.1:\d+(\/[^" ]*)"? -H "Authorization: Bearer \$key"$/m.exec(readme) ?? [];
  test(`the request that its README shows passes: ${path}`, async () => {
    const key = await newKey({ permissions: ['orders.read', 'reports.read'] });
    strictEqual((await ask(path, key)).status, 200);
  });
}

/** @param {string} url */
export function asker(url) {
  return async (path, key, method = 'GET') => {
    const response = await fetch(url + path, {
      method,
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    });
    const type = response.headers.get('content-type')?.split(';')[0];
    const text = await response.text();
    return {
      status: response.status,
      type,
      headers: response.headers,
      body: type?.endsWith('json') ? JSON.parse(text) : text,
    };
  };
}

/** What a refused request gets: [status, type, status in the body, code]. */
export function refusal({ status, type, body }) {
  return [status, type, body.status, body.code];
}

export const NO_KEY = [401, 'application/problem+json', 401, 'NOT_FOUND'];
export const NO_PERMISSION = [403, 'application/problem+json', 403, 'INSUFFICIENT_PERMISSIONS'];
export const NO_CREDITS = [429, 'application/problem+json', 429, 'USAGE_EXCEEDED'];
export const OVER_LIMIT = [429, 'application/problem+json', 429, 'RATE_LIMITED'];
