import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Keystile } from '@keystile/sdk';

import { startService } from '../../tools/clients/service.mjs';
import { expectAll } from './keystileForTests.mjs';

const APP = fileURLToPath(new URL('nextApp', import.meta.url));
const NEXT = createRequire(import.meta.url).resolve('next/dist/bin/next');

/** A development server of Next.js, which reads KEYSTILE_URL like a user's. */
async function startNext(environment) {
  const next = spawn(process.execPath, [NEXT, 'dev', '--port', '0'], {
    cwd: APP,
    env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  after(() => next.kill('SIGTERM'));
  return new Promise((resolve, reject) => {
    let text = '';
    next.stdout.on('data', (bytes) => {
      text += bytes;
      const port = /localhost:(\d+)/.exec(text)?.[1];
      if (port !== undefined && text.includes('Ready')) resolve(`http://127.0.0.1:${port}`);
    });
    next.once('exit', () => reject(new Error(`Next.js ended: ${text}`)));
  });
}

describe('Next.js route handlers', async () => {
  const { url, rootKey, stop } = await startService();
  after(stop);
  const keystile = new Keystile({ url, rootKey, timeoutMs: 60_000, totalTimeoutMs: 60_000 });
  const { apiId } = await keystile.apis.create({ name: 'next' });
  const make = async (fields) => (await keystile.keys.create({ apiId, ...fields })).key;
  const keys = {
    plain: await make({}),
    reader: await make({ permissions: ['doc.read'] }),
    credits: await make({ remaining: 5 }),
    limited: await make({ ratelimit: { limit: 1, duration: 31_622_400_000 } }),
    disabled: await make({ enabled: false }),
  };
  await expectAll(test, await startNext({ KEYSTILE_URL: url }), keys);
});
