import { spawn } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Keystile } from '@keystile/sdk';

import { startService } from '../../tools/clients/service.mjs';

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const PROGRAMS = Object.fromEntries(
  [...README.matchAll(/```js (\w+)\n([\s\S]*?)```/g)].map(([, name, text]) => [name, text]),
);

/** Runs a program of the README beside the sources, so that packages are found. */
function start(name, environment) {
  const file = fileURLToPath(new URL(`readme-${name}-${crypto.randomUUID()}.mjs`, import.meta.url));
  writeFileSync(file, PROGRAMS[name]);
  const program = spawn(process.execPath, [file], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  program.once('exit', () => rmSync(file));
  return program;
}

async function outputOf(name, environment) {
  let text = '';
  for await (const bytes of start(name, environment).stdout) text += bytes;
  return text.trim().split('\n');
}

describe('the programs of the README', async () => {
  const { url, rootKey, stop } = await startService();
  after(stop);
  const environment = { KEYSTILE_URL: url, KEYSTILE_ROOT_KEY: rootKey };
  const keystile = new Keystile({ url, rootKey, timeoutMs: 60_000, totalTimeoutMs: 60_000 });
  const { apiId } = await keystile.apis.create({ name: 'readme' });
  const { key } = await keystile.keys.create({ apiId, remaining: 3 });

  test('are all run here', (t) => {
    t.assert.deepStrictEqual(Object.keys(PROGRAMS), ['verify', 'reserve', 'manage', 'testing']);
  });

  test('verify', async (t) => {
    t.assert.deepStrictEqual(await outputOf('verify', { ...environment, KEY: key }), ['VALID 1']);
    t.assert.deepStrictEqual(await outputOf('verify', { ...environment, KEY: key }), ['refused: USAGE_EXCEEDED']);
  });

  test('reserve', async (t) => {
    const { keyId, key: costly } = await keystile.keys.create({ apiId, remaining: 5000 });
    t.assert.deepStrictEqual(await outputOf('reserve', { ...environment, KEY: costly }), ['2750 1250']);
    t.assert.strictEqual((await keystile.keys.get({ keyId })).remaining, 2250);
    t.assert.deepStrictEqual(await outputOf('reserve', { ...environment, KEY: costly }), ['']);
    t.assert.strictEqual((await keystile.keys.get({ keyId })).remaining, 2250);
  });

  test('the reservation of docs/reservations.md, which is settled', async (t) => {
    const page = readFileSync(new URL('../../docs/reservations.md', import.meta.url), 'utf8');
    const [, block] = /^```js\n([\s\S]*?)^```/m.exec(page);
    const AsyncFunction = (async () => {}).constructor;
    const call = new AsyncFunction('keystile', 'key', 'model', 'prompt', 'refuse', block);
    const { keyId, key: costly } = await keystile.keys.create({ apiId, remaining: 5000 });
    const model = { complete: async () => ({ usage: { totalTokens: 2750 } }) };
    await call(keystile, costly, model, 'hello', t.assert.fail);
    t.assert.strictEqual((await keystile.keys.get({ keyId })).remaining, 2250);
    const { code } = await call(keystile, costly, model, 'hello', (verdict) => verdict);
    t.assert.strictEqual(code, 'USAGE_EXCEEDED');
    const { keyId: other, key: unused } = await keystile.keys.create({ apiId, remaining: 5000 });
    const failing = { complete: () => Promise.reject(new Error('the model failed')) };
    await t.assert.rejects(call(keystile, unused, failing, 'hello', t.assert.fail), /the model failed/);
    t.assert.strictEqual((await keystile.keys.get({ keyId: other })).remaining, 5000);
  });

  test('manage', async (t) => {
    t.assert.deepStrictEqual(await outputOf('manage', environment), ['Ada 100']);
  });

  test('testing', async (t) => {
    t.assert.deepStrictEqual(await outputOf('testing', {}), ['VALID', 'RATE_LIMITED', 'VALID']);
  });
});
