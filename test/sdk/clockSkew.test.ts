import { expect, test } from 'bun:test';

import { Keystile, ratelimitHeaders, refusalOf } from '../../sdk/src/index.ts';
import { FakeKeystile } from '../../sdk/src/testing/index.ts';
import { answer, ScriptedServer } from './scriptedServer.ts';

/** Far from the clock of any machine that runs this test. */
const SERVICE_TIME = 'Fri, 01 Jan 2100 00:00:00 GMT';
const RATELIMITS = [
  { name: 'default', limit: 1, remaining: 0, reset: Date.parse(SERVICE_TIME) + 30_000, async: false, exceeded: true },
];
const REFUSED = {
  valid: false,
  code: 'RATE_LIMITED',
  requestId: 'req_1',
  keyId: 'key_1',
  meta: {},
  ratelimits: RATELIMITS,
};
const WAIT = { ratelimit: '"default";r=0;t=30', 'retry-after': '30' };

test('a wait is counted from the time of the service, whatever the clock of this machine says', async () => {
  await using server = await ScriptedServer.start(answer(200, REFUSED, { date: SERVICE_TIME }));
  const verdict = await new Keystile({ url: server.url }).verify('demo_key');
  expect(verdict).toMatchObject({ code: 'RATE_LIMITED', answeredAt: Date.parse(SERVICE_TIME) });
  expect(refusalOf(verdict)?.headers).toMatchObject(WAIT);
});

test('also in a shared call', async () => {
  const together = answer(200, { results: [REFUSED, REFUSED] }, { date: SERVICE_TIME });
  await using server = await ScriptedServer.start(together);
  const keystile = new Keystile({ url: server.url });
  const verdicts = await Promise.all([keystile.verify('demo_key'), keystile.verify('demo_key')]);
  for (const verdict of verdicts) expect(ratelimitHeaders(verdict)).toMatchObject(WAIT);
});

test('an answer without a date is compared with the clock of this machine', async () => {
  const soon = [{ ...RATELIMITS[0], reset: 0 }];
  await using server = await ScriptedServer.start(answer(200, { ...REFUSED, ratelimits: soon }, { date: 'soon' }));
  const verdict = await new Keystile({ url: server.url }).verify('demo_key');
  expect(verdict).not.toHaveProperty('answeredAt');
  expect(ratelimitHeaders(verdict)).toMatchObject({ ratelimit: '"default";r=0;t=0', 'retry-after': '1' });
});

test('the fake tells the time of its own clock', async () => {
  const fake = new FakeKeystile();
  const { key } = await fake.createKey({ ratelimit: { limit: 1, duration: 60_000 } });
  await fake.keystile.verify(key);
  fake.advance(20_000);
  expect(ratelimitHeaders(await fake.keystile.verify(key))).toMatchObject({ 'retry-after': '40' });
});
