import { spawn } from 'node:child_process';
import { accessSync, constants, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { fromProjectRoot } from '../launch/project.mjs';

/**
 * Starts the service as a user would, on a port of its own.
 *
 * @param {Record<string, string>} more further settings
 */
export async function startService(more = {}) {
  const folder = mkdtempSync(join(temporaryBase(), 'keystile-clients-'));
  const settings = { KEYSTILE_DATA: join(folder, 'data'), KEYSTILE_PORT: '0', KEYSTILE_METRICS_PORT: '0', ...more };
  const service = spawn(process.execPath, [fromProjectRoot('bin/keystile.mjs'), 'serve'], {
    env: { ...withoutSettings(process.env), ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const banner = await printed(service, /^Ctrl-C stops it/m);
  return {
    url: /^ {2}API +(http:\S+)/m.exec(banner)[1],
    /** The lines to paste: they make an api, make a key, and verify it. */
    pasted: /another terminal:\n([\s\S]*)\nCtrl-C/.exec(banner)[1].split('\n'),
    rootKey: readFileSync(join(folder, 'data/root-key'), 'utf8').trim(),
    async stop() {
      service.kill('SIGTERM');
      await new Promise((ended) => service.once('exit', ended));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** In memory, where there is such a folder. On a disk that a compiler writes to, a flush can take longer than a client waits. */
function temporaryBase() {
  try {
    accessSync('/dev/shm', constants.W_OK);
    return '/dev/shm';
  } catch {
    return tmpdir();
  }
}

function withoutSettings(environment) {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('KEYSTILE_')));
}

/** Gives up after a minute, and ends the service. */
function printed(service, pattern) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      service.kill('SIGKILL');
      reject(new Error('The service was not ready within a minute.'));
    }, 60_000);
    let text = '';
    service.stdout.on('data', (bytes) => {
      text += bytes;
      if (!pattern.test(text)) return;
      clearTimeout(timer);
      resolve(text);
    });
    service.once('exit', (code) => reject(new Error(`The service ended with exit code ${code} before it was ready.`)));
  });
}
