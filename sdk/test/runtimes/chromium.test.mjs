import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { after, describe, test } from 'node:test';

import { Keystile } from '@keystile/sdk';
import chromium from '@sparticuz/chromium';

import { startService } from '../../../tools/clients/service.mjs';

const SDK = new URL('../../', import.meta.url);
/** Not localhost: pages of other names have fewer rights over http. */
const HOST = 'app.example';

/** Serves the page and the built SDK. `seen` is what the page sends back. */
async function servePage(settings) {
  let resolve;
  const seen = new Promise((done) => (resolve = done));
  const server = createServer(async (request, response) => {
    const { url } = request;
    const send = (type, body) => response.writeHead(200, { 'content-type': type }).end(body);
    if (url === '/') send('text/html', '<!doctype html><script type="module" src="/test/runtimes/page.mjs"></script>');
    else if (url === '/settings') send('application/json', JSON.stringify(settings));
    else if (/^\/(dist|test)\/[\w/]+\.m?js$/.test(url)) send('text/javascript', readFileSync(new URL(`.${url}`, SDK)));
    else if (url === '/seen') {
      resolve(JSON.parse(await textOf(request)));
      send('text/plain', '');
    } else response.writeHead(404).end();
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  after(() => server.close());
  return { port: server.address().port, seen };
}

async function openPage(port) {
  const folder = mkdtempSync(join(tmpdir(), 'keystile-chromium-'));
  const browser = spawn(
    await chromium.executablePath(),
    [
      ...chromium.args,
      `--user-data-dir=${folder}`,
      `--host-resolver-rules=MAP ${HOST} 127.0.0.1`,
      '--remote-debugging-port=0',
      `http://${HOST}:${port}/`,
    ],
    { stdio: 'ignore' },
  );
  const ended = new Promise((resolve) => browser.once('exit', resolve));
  after(async () => {
    browser.kill();
    await ended;
    rmSync(folder, { recursive: true });
  });
  return ended.then((code) => ({ failure: `Chromium ended with exit code ${code}.` }));
}

describe('Chromium', async () => {
  const service = await startService({ KEYSTILE_CORS_ORIGINS: '*' });
  after(service.stop);
  const keystile = new Keystile({ ...service, timeoutMs: 60_000, totalTimeoutMs: 60_000 });
  const { apiId } = await keystile.apis.create({ name: 'browser' });
  const { key } = await keystile.keys.create({ apiId });
  const { url, rootKey } = service;
  const cases = JSON.parse(readFileSync(new URL('../clients/cases.json', SDK), 'utf8'));
  const { port, seen } = await servePage({ service: { url, rootKey }, key, cases });
  const result = await Promise.race([seen, openPage(port)]);

  test('the page runs, without the rights of a page over https', (t) => {
    t.assert.strictEqual(result.failure, undefined);
    t.assert.strictEqual(result.isSecure, false);
  });
  test('verifications of one turn share one call', (t) => {
    t.assert.deepStrictEqual(result.together, ['VALID', 'VALID', 'VALID']);
    t.assert.deepStrictEqual(result.calls, ['/v1/keys.verifyKeys']);
  });
  test('the time of the service can be read', (t) => t.assert.strictEqual(result.isDated, true));
  test('the fake counts', (t) => t.assert.deepStrictEqual(result.fake, ['VALID', 'USAGE_EXCEEDED']));
  test('the shared cases pass', (t) => t.assert.deepStrictEqual(result.differences, []));
});
