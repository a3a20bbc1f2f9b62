import * as sdk from './dist/index.js';
import { protect } from './dist/middleware/fetch.js';
import { FakeKeystile } from './dist/testing/index.js';
import { runCases } from './runCases.mjs';

// A worker of a user: one client for all requests. KEYSTILE_URL and what follows are bindings of the worker.
let shared;
let hello;

export default {
  async fetch(request, { KEYSTILE_URL: url, ROOT_KEY: rootKey, CASES: cases }) {
    shared ??= new sdk.Keystile({ url, timeoutMs: 10_000, totalTimeoutMs: 20_000 });
    hello ??= protect({ keystile: shared }, (_request, { remaining }) => Response.json({ left: remaining }));
    switch (new URL(request.url).pathname) {
      case '/cases':
        return Response.json(await runCases(sdk, cases, { url, rootKey }));
      case '/fake':
        return Response.json(await codesOfFake());
      default:
        return hello(request);
    }
  },
};

async function codesOfFake() {
  const fake = new FakeKeystile();
  const { key } = await fake.createKey({ remaining: 1 });
  const verdicts = await Promise.all([1, 2].map(() => fake.keystile.verify(key, { idempotent: true })));
  return verdicts.map(({ code }) => code);
}
