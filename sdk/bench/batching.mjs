import { Keystile } from '@keystile/sdk';

import { startService } from '../../tools/clients/service.mjs';

// Verifications per second with and without sharing calls, in turn: node sdk/bench/batching.mjs. Prints the table of sdk/README.md.
const CALLERS = [1, 16, 256];
const ROUNDS = 5;
const ROUND_MS = 1_500;

const { url, rootKey, stop } = await startService();
const { apiId } = await new Keystile({ url, rootKey }).apis.create({ name: 'batching' });
const { key } = await new Keystile({ url, rootKey }).keys.create({ apiId });

async function perSecond(keystile, callers) {
  const endMs = performance.now() + ROUND_MS;
  let verified = 0;
  const call = async () => {
    while (performance.now() < endMs) {
      const verdict = await keystile.verify(key);
      if (!verdict.valid) throw new Error(`a verification failed: ${verdict.code}`, { cause: verdict.cause });
      verified++;
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  return (verified / ROUND_MS) * 1_000;
}

const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const options = { url, timeoutMs: 10_000, totalTimeoutMs: 20_000 };
const [shared, alone] = [new Keystile(options), new Keystile({ ...options, batch: false })];
console.log('| Callers | One call each | Shared calls | Ratio |\n|---|---|---|---|');
for (const callers of CALLERS) {
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++)
    rounds.push([await perSecond(alone, callers), await perSecond(shared, callers)]);
  const [a, b] = [0, 1].map((side) => median(rounds.map((round) => round[side])));
  const ratio = median(rounds.map(([before, after]) => after / before));
  console.log(`| ${callers} | ${Math.round(a)}/s | ${Math.round(b)}/s | ${ratio.toFixed(2)} |`);
}
await stop();
