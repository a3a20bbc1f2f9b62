import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { fromProjectRoot } from '../launch/project.mjs';
import { runs } from './run.mjs';

export function missingForPython() {
  const isFit = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))';
  if (!runs('python3', ['-c', isFit])) return 'Python 3.10 or later with venv is not installed';
  const folder = mkdtempSync(join(tmpdir(), 'keystile-pip-'));
  const isReached = runs('python3', [
    '-m',
    'pip',
    'download',
    '--quiet',
    '--no-deps',
    '--retries=1',
    '--dest',
    folder,
    'httpx',
  ]);
  rmSync(folder, { recursive: true, force: true });
  return isReached ? null : 'the packages that it needs cannot be downloaded by pip';
}

export function missingForGo() {
  const options = { cwd: fromProjectRoot('clients/go'), env: { ...process.env, GOTOOLCHAIN: 'local' } };
  return runs('go', ['list', './...'], options) ? null : 'Go 1.23 or later is not installed';
}

export function missingCurl() {
  return runs('curl', ['--version']) ? null : 'curl is not installed';
}

export function missingNginx() {
  return findNginx() === null ? 'nginx is not installed. To install it: apt-get install nginx-light' : null;
}

/** Debian keeps it in a folder that is not in the PATH of users. */
export function findNginx() {
  return ['nginx', '/usr/sbin/nginx', '/usr/local/sbin/nginx'].find((program) => runs(program, ['-v'])) ?? null;
}

export function missingForWorkers() {
  const isThere = runs(process.execPath, ['-e', 'require("workerd")'], { cwd: fromProjectRoot('sdk') });
  return isThere ? null : 'workerd, their runtime, has no program for this machine';
}

export function missingForBrowser() {
  return `${process.platform} ${process.arch}` === 'linux x64' ? null : 'its Chromium is for Linux on x64';
}
