import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Child, PROJECT, TempFolder } from '../process.ts';
import { Server } from '../server.ts';

const SECRET = 'whsec_of_this_test';
const FIXTURES = join(PROJECT, 'test/support/fixtures/stripe');

let folder: TempFolder;
let server: Server;
let program: Child;
let address: string;

/** The program of docs/payments.md, as a reader saves it. */
beforeAll(async () => {
  folder = new TempFolder();
  server = await Server.start(folder);
  const page = readFileSync(join(PROJECT, 'docs/payments.md'), 'utf8');
  const code = /^```js payments\.js\n([\s\S]*?)^```/m.exec(page)?.[1] ?? '';
  // Port 0 is a free one, which the program is made to print.
  writeFileSync(
    folder.join('payments.mjs'),
    code.replace(
      '() => console.log(`waiting for Stripe on port ${PORT}`)',
      'function () { console.log(`port ${this.address().port}.`) }',
    ),
  );
  const { key: secret } = await server.ok('/v1/rootKeys.createRootKey', {
    name: 'payments',
    permissions: ['identity.*.grant_credits'],
  });
  program = new Child({
    command: [process.execPath, folder.join('payments.mjs')],
    settings: { KEYSTILE_URL: server.url, KEYSTILE_ROOT_KEY: secret, STRIPE_SIGNING_SECRET: SECRET, PORT: '0' },
  });
  address = `http://127.0.0.1:${(await program.printed(/port (\d+)\./))[1]}`;
  await server.ok('/v1/identities.createIdentity', { externalId: 'user_1234', remaining: 10 });
});

afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function send(name: string, { secret = SECRET, at = Date.now() } = {}): Promise<number> {
  const body = readFileSync(join(FIXTURES, `${name}.json`), 'utf8');
  const time = Math.floor(at / 1000);
  const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex');
  const headers = { 'stripe-signature': `t=${time},v1=${signature},v0=00` };
  return (await fetch(address, { method: 'POST', headers, body })).status;
}

async function remaining(): Promise<number> {
  return (await server.ok('/v1/identities.getIdentity', { externalId: 'user_1234' })).remaining;
}

test('a payment grants its credits once, however often Stripe reports it', async () => {
  expect([await send('checkoutPaid'), await send('checkoutPaid')]).toEqual([200, 200]);
  expect(await remaining()).toBe(1_010);
  expect(await Promise.all([send('invoicePaid'), send('invoicePaid'), send('invoicePaid')])).toEqual([200, 200, 200]);
  expect(await remaining()).toBe(1_510);
});

test('what is no payment grants nothing, and neither does what Stripe did not sign, or signed long ago', async () => {
  const before = await remaining();
  expect([await send('customerUpdated'), await send('checkoutUnpaid')]).toEqual([200, 200]);
  expect(await send('checkoutPaid', { secret: 'whsec_of_somebody_else' })).toBe(400);
  expect(await send('checkoutPaid', { at: Date.now() - 3_600_000 })).toBe(400);
  expect((await fetch(address, { method: 'POST', body: '{}' })).status).toBe(400);
  expect(await remaining()).toBe(before);
});

test('a client that hangs up, or sends without end, ends nothing', async () => {
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port: Number(new URL(address).port),
    socket: { data() {} },
  });
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc');
  socket.flush();
  socket.terminate();
  expect((await fetch(address, { method: 'POST', body: 'x'.repeat(2_000_000) })).status).toBe(413);
  expect(await send('customerUpdated')).toBe(200);
});

test('while Keystile does not answer, Stripe is told to try again', async () => {
  await server.ok('/v1/identities.deleteIdentity', { externalId: 'user_1234' });
  expect(await send('checkoutPaid')).toBe(500);
  await server.ok('/v1/identities.createIdentity', { externalId: 'user_1234', remaining: 1 });
  expect(await send('checkoutPaid')).toBe(200);
  expect(await remaining()).toBe(1_001);
});
