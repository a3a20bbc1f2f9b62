import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';

import { VARIABLES } from '../../src/config/variables.ts';
import { DRAIN_MAX_MS } from '../../src/serve/listen.ts';
import { DEFAULT_STOP_DELAY_MS } from '../../src/serve/stopSignals.ts';
import { MIGRATE_WITHIN_MS } from '../../src/storage/postgres/storage.ts';
import { VERSION } from '../../src/version.ts';

const FILES = readdirSync('deploy', { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map(({ parentPath, name }) => `${parentPath}/${name}`)
  .map((path) => [path, readFileSync(path, 'utf8')] as const);
const SETTINGS = Object.values(VARIABLES).flatMap(({ name }) => [name, `${name}_FILE`]);

test.each(FILES)('%s names only settings that exist, and this version', (_, text) => {
  for (const [name] of text.matchAll(/KEYSTILE_[A-Z_]+/g)) expect(SETTINGS).toContain(name);
  for (const [, version] of text.matchAll(/image: keystile:(\S+)/g)) expect(version).toBe(VERSION);
});

test('the image is built from what is committed, and holds no data of its maker', () => {
  const ignored = readFileSync('.dockerignore', 'utf8').split('\n');
  for (const name of ['.git', 'node_modules', 'data', 'dist']) expect(ignored).toContain(name);
});

/** What a start does before and after the migration: it connects, and fills its cache. */
const REST_OF_START_MS = 60_000;

test.each([
  ['deploy/kubernetes.yaml', /startupProbe:\n.*\n\s+periodSeconds: (\d+)\n\s+failureThreshold: (\d+)\n/],
  ['deploy/Dockerfile', /^HEALTHCHECK .*--start-period=(\d+)s/m],
])('%s gives a start the time that a migration may take', (path, pattern) => {
  const [, ...numbers] = pattern.exec(readFileSync(path, 'utf8')) ?? [];
  expect(numbers.map(Number).reduce((product, number) => product * number, 1000)).toBe(
    MIGRATE_WITHIN_MS + REST_OF_START_MS,
  );
});

/** After the last answer: counts are saved, and connections to the database are closed, also when that does not answer. */
const REST_OF_STOP_MS = 20_000;

test.each([
  ['deploy/kubernetes.yaml', /^ +terminationGracePeriodSeconds: (\d+)$/m],
  ['deploy/compose.yaml', /^ +stop_grace_period: (\d+)s$/m],
  ['deploy/keystile.service', /^TimeoutStopSec=(\d+)$/m],
])('%s gives a stop its time: the delay, what is in flight, and the database', (path, pattern) => {
  const text = readFileSync(path, 'utf8');
  const [, seconds] = pattern.exec(text) ?? [];
  expect(Number(seconds) * 1000).toBeGreaterThan(DEFAULT_STOP_DELAY_MS + DRAIN_MAX_MS + REST_OF_STOP_MS);
  // Nothing keeps the node from hearing at once that it has to stop: it is not ready then.
  expect(text).not.toContain('preStop');
});

test('a rollout on Kubernetes does not count as failed while a node may still start', () => {
  const [, seconds] = /^  progressDeadlineSeconds: (\d+)$/m.exec(readFileSync('deploy/kubernetes.yaml', 'utf8')) ?? [];
  expect(Number(seconds) * 1000).toBeGreaterThan(MIGRATE_WITHIN_MS + REST_OF_START_MS);
});

test('systemd does not wait for a start: it is done when the program runs, so no time limit can end a migration', () => {
  const unit = readFileSync('deploy/keystile.service', 'utf8');
  expect(unit).toContain('\nType=exec\n');
  expect(unit).not.toContain('TimeoutStartSec');
  expect(unit).not.toContain('WatchdogSec');
});
