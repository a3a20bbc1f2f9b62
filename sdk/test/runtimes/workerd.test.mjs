import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Keystile } from '@keystile/sdk';
import workerd from 'workerd';

import { startService } from '../../../tools/clients/service.mjs';

/** The program for this machine. */
const { default: WORKERD } = workerd;
const fromSdk = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** Copies the worker and what it imports, as a bundler would, and lists the modules. */
function modulesIn(folder) {
  cpSync(fromSdk('test/runtimes/worker.mjs'), join(folder, 'worker.mjs'));
  cpSync(fromSdk('test/runCases.mjs'), join(folder, 'runCases.mjs'));
  cpSync(fromSdk('../clients/cases.json'), join(folder, 'cases.json'));
  cpSync(fromSdk('dist'), join(folder, 'dist'), { recursive: true });
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.m?js$/.test(name));
  const others = files.filter((name) => name !== 'worker.mjs' && !/\/(express|fastify|hono)\.js$/.test(name));
  return ['worker.mjs', ...others].map((name) => `(name = "${name}", esModule = embed "${name}")`);
}

/** The runtime of Cloudflare Workers, with the worker. Answers its address. */
async function startWorker({ url, rootKey }, flags) {
  const folder = mkdtempSync(join(tmpdir(), 'keystile-workerd-'));
  const bindings = [
    `(name = "KEYSTILE_URL", text = "${url}")`,
    `(name = "ROOT_KEY", text = "${rootKey}")`,
    '(name = "CASES", json = embed "cases.json")',
  ];
  writeFileSync(
    join(folder, 'config.capnp'),
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["private"]))
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
);
const worker :Workerd.Worker = (
  modules = [${modulesIn(folder)}],
  bindings = [${bindings}],
  compatibilityDate = "2026-04-01",
  compatibilityFlags = [${flags.map((flag) => `"${flag}"`)}]
);
`,
  );
  const worker = spawn(WORKERD, ['serve', join(folder, 'config.capnp'), '--control-fd=3'], {
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  });
  after(() => {
    worker.kill();
    rmSync(folder, { recursive: true });
  });
  return new Promise((resolve, reject) => {
    let text = '';
    worker.stdio[3].on('data', (bytes) => {
      text += bytes;
      const port = /"port":(\d+)/.exec(text)?.[1];
      if (port !== undefined) resolve(`http://127.0.0.1:${port}`);
    });
    worker.once('exit', (code) => reject(new Error(`workerd ended with exit code ${code}.`)));
  });
}

describe('Cloudflare Workers', async () => {
  const service = await startService();
  after(service.stop);
  const keystile = new Keystile({ ...service, timeoutMs: 60_000, totalTimeoutMs: 60_000 });
  const { apiId } = await keystile.apis.create({ name: 'workers' });

  // With nodejs_compat, a worker has setImmediate and process.
  for (const flags of [[], ['nodejs_compat']]) {
    describe(`with the flags [${flags}]`, async () => {
      const url = await startWorker(service, flags);

      test('the shared cases pass', async (t) => {
        t.assert.deepStrictEqual(await (await fetch(`${url}/cases`)).json(), []);
      });

      test('the fake counts', async (t) => {
        t.assert.deepStrictEqual(await (await fetch(`${url}/fake`)).json(), ['VALID', 'USAGE_EXCEEDED']);
      });

      test('requests at the same time are all answered: none waits for the call of another one', async (t) => {
        const { key } = await keystile.keys.create({ apiId, remaining: 30 });
        const headers = { authorization: `Bearer ${key}` };
        const ask = async () => (await fetch(`${url}/hello`, { headers })).status;
        const statuses = await Promise.all(Array.from({ length: 40 }, ask));
        t.assert.deepStrictEqual(statuses.sort(), [...Array(30).fill(200), ...Array(10).fill(429)]);
      });
    });
  }
});
