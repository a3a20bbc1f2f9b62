import * as sdk from '/dist/index.js';
import { FakeKeystile } from '/dist/testing/index.js';
import { runCases } from '/test/runCases.mjs';

// Runs in a page, over http and from another origin than the service. Sends what it saw back to the test.
const { service, key, cases } = await (await fetch('/settings')).json();
const calls = [];
const keystile = new sdk.Keystile({
  ...service,
  timeoutMs: 10_000,
  totalTimeoutMs: 20_000,
  fetch: (url, init) => {
    calls.push(new URL(url).pathname);
    return fetch(url, init);
  },
});

/** Asks from a later callback of the same turn. */
async function later(callbacks) {
  for (let i = 0; i < callbacks; i++) await null;
  return keystile.verify(key, { idempotent: true });
}

async function verdictsOfFake() {
  const fake = new FakeKeystile();
  const { key: own } = await fake.createKey({ remaining: 1 });
  return [await fake.keystile.verify(own), await fake.keystile.verify(own)].map(({ code }) => code);
}

async function seen() {
  const together = await Promise.all([0, 1, 5].map(later));
  const isDated = together.every(({ answeredAt }) => answeredAt !== undefined);
  return {
    isSecure: isSecureContext,
    together: together.map(({ code }) => code),
    calls,
    isDated,
    fake: await verdictsOfFake(),
    differences: await runCases(sdk, cases, service),
  };
}

const result = await seen().catch((failure) => ({ failure: String(failure.stack) }));
await fetch('/seen', { method: 'POST', body: JSON.stringify(result) });
