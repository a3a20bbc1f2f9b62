import { expect, test } from 'bun:test';

import { remainingIn } from '../documentation/offline.ts';
import { keystile } from '../cli/cliRun.ts';
import { type KeyLoad, verifyUnderLoad } from '../load.ts';
import { TempFolder } from '../process.ts';
import { Server } from '../server.ts';

const CLIENTS = 16;
const CREDITS = 100_000;
const REQUESTS = 80;

test('a backup under load has every spend that was answered before it began, on both paths of a commit', async () => {
  using folder = new TempFolder();
  const restored = folder.join('restored');
  const environment = { KEYSTILE_DATA: folder.join('data') };
  const file = folder.join('a.backup');
  const loads: KeyLoad[] = [];
  let answeredBefore: readonly number[] = [];
  let sentBefore: readonly number[] = [];
  {
    await using server = await Server.start(folder);
    for (const made of await server.createKeys(3, { remaining: CREDITS }))
      loads.push({ ...made, valid: 0, unanswered: 0 });
    const halfway = Promise.withResolvers<void>();
    const load = verifyUnderLoad(server, loads, {
      clients: CLIENTS,
      maxRequests: REQUESTS,
      // Half of the spends are remembered under an idempotency key: those go through the writer thread.
      fields: (client, request) => (request % 2 === 0 ? {} : { idempotencyKey: `spend-${client}-${request}` }),
      onValid: (count) => {
        if (count === (CLIENTS * REQUESTS) / 2) halfway.resolve();
      },
    });
    await halfway.promise;
    answeredBefore = loads.map(({ valid }) => valid);
    const made = await keystile(['backup', 'create', file], { environment });
    sentBefore = loads.map(({ valid }) => valid + CLIENTS);
    expect([made.code, made.err]).toEqual([0, '']);
    await load;
    expect(await server.stop()).toBe(0);
  }
  expect((await keystile(['backup', 'restore', file, '--data', restored, '--accept'])).code).toBe(0);
  for (const [i, { keyId, valid }] of loads.entries()) {
    const spent = CREDITS - (await remainingIn(restored, keyId));
    expect(spent).toBeGreaterThanOrEqual(answeredBefore[i] ?? Number.NaN);
    expect(spent).toBeLessThanOrEqual(sentBefore[i] ?? Number.NaN);
    expect(await remainingIn(folder.join('data'), keyId)).toBe(CREDITS - valid);
  }
});
