import { deepStrictEqual, match, strictEqual } from 'node:assert';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';

import { findNginx } from '../clients/missing.mjs';
import {
  asker,
  copyOf,
  NO_CREDITS,
  NO_PERMISSION,
  OVER_LIMIT,
  refusal,
  startKeystile,
  testShownRequest,
} from './example.mjs';
import { freePort, Program } from './program.mjs';

const YEAR_MS = 31_622_400_000;
const permissions = ['orders.read'];

/** The service of the user, which keeps the headers that reach it. */
async function startApp() {
  const reached = [];
  const server = createServer(({ headers }, response) => {
    reached.push(headers);
    response.end('from the service');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => server.close());
  return { reached, port: server.address().port };
}

/** The example in place of conf.d, with all files of nginx in its folder. */
async function startNginx(ports) {
  const folder = copyOf('nginx');
  const example = readFileSync(join(folder, 'keystile.conf'), 'utf8');
  const site = Object.entries(ports).reduce((text, [shown, port]) => {
    strictEqual(text.split(shown).length, 2, `keystile.conf must name ${shown} once`);
    return text.replace(shown, port);
  }, example);
  writeFileSync(join(folder, 'keystile.conf'), site);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((each) => `${each}_temp_path ${each};`);
  // Only root may set a user, and the workers of root have to write into the folder.
  const user = process.getuid() === 0 ? 'user root;' : '';
  const http = `http { ${temporary.join(' ')} access_log off; include keystile.conf; }`;
  writeFileSync(join(folder, 'nginx.conf'), `${user} daemon off; pid nginx.pid; events {} ${http}\n`);
  const program = new Program({ folder, lines: `exec '${findNginx()}' -p "$PWD" -c nginx.conf -e stderr` });
  after(() => program.stop());
  await program.listens(ports[8080]);
  return readFileSync(join(folder, 'README.md'), 'utf8');
}

describe('examples/nginx', async () => {
  const { url, newKey } = await startKeystile();
  const app = await startApp();
  const port = await freePort();
  const readme = await startNginx({ 7878: new URL(url).port, 3000: app.port, 8080: port });
  const ask = asker(`http://127.0.0.1:${port}`);
  testShownRequest({ readme, ask, newKey });

  test('a key passes until its credits are used up, and the service does not see the secret', async () => {
    const key = await newKey({ remaining: 3, permissions });
    strictEqual((await ask('/orders/1', key)).body, 'from the service');
    match(app.reached.at(-1)['keystile-key-id'], /^key_/);
    strictEqual('authorization' in app.reached.at(-1), false);
    deepStrictEqual(refusal(await ask('/orders/1', key)), NO_CREDITS);
  });

  test('a request with a body passes, and the service trusts no header that a client can write', async () => {
    const key = await newKey({ permissions, externalId: 'org_real' });
    const forged = { 'keystile-key-id': 'key_forged', 'keystile-external-id': 'victim', 'keystile-remaining': '999' };
    const headers = { authorization: `Bearer ${key}`, ...forged };
    const response = await fetch(`http://127.0.0.1:${port}/orders`, { method: 'POST', headers, body: 'a=b' });
    deepStrictEqual([response.status, await response.text()], [200, 'from the service']);
    const seen = app.reached.at(-1);
    deepStrictEqual([seen['keystile-external-id'], seen['keystile-remaining']], ['org_real', undefined]);
    match(seen['keystile-key-id'], /^key_(?!forged)/);
    await fetch(`http://127.0.0.1:${port}/orders`, {
      headers: { ...headers, authorization: `Bearer ${await newKey({ permissions })}` },
    });
    strictEqual(app.reached.at(-1)['keystile-external-id'], undefined);
  });

  test('a limit is 429 with Retry-After', async () => {
    const key = await newKey({ permissions, ratelimit: { limit: 1, duration: YEAR_MS } });
    strictEqual((await ask('/', key)).status, 200);
    const refused = await ask('/', key);
    deepStrictEqual(refusal(refused), OVER_LIMIT);
    match(refused.headers.get('retry-after'), /^\d+$/);
  });

  test('a key without the permission is 403, a request without a key is 401, and neither reaches the service', async () => {
    const reachedBefore = app.reached.length;
    deepStrictEqual(refusal(await ask('/', await newKey())), NO_PERMISSION);
    const { status, headers } = await ask('/?cost=0');
    deepStrictEqual([status, headers.get('www-authenticate')], [401, 'Bearer realm="keystile"']);
    strictEqual(app.reached.length, reachedBefore);
  });

  test('a request that Keystile cannot be asked about is 503 and does not reach the service', async () => {
    const away = await freePort();
    await startNginx({ 7878: await freePort(), 3000: app.port, 8080: away });
    const reachedBefore = app.reached.length;
    const refused = await asker(`http://127.0.0.1:${away}`)('/', await newKey({ permissions }));
    deepStrictEqual(refusal(refused), [503, 'application/problem+json', 503, 'UNAVAILABLE']);
    strictEqual(app.reached.length, reachedBefore);
  });
});
