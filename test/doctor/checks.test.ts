import { describe, expect, test } from 'bun:test';

import { readConfig } from '../../src/config/read.ts';
import { CHECKS } from '../../src/doctor/checkTable.ts';
import type { Facts } from '../../src/doctor/facts.ts';
import { examine } from '../../src/doctor/statusReader.ts';
import type { NodeStatus } from '../../src/engine/admin/status/serviceStatus.ts';

function configOf(environment: Record<string, string> = {}): Facts['config'] {
  const { config, problems } = readConfig({ environment, flags: {}, readFile: () => '' });
  if (config === null) throw new Error(problems.join('\n'));
  return config;
}

const NODE: NodeStatus = {
  id: 'node_1',
  location: 'eu',
  version: '1.0.0',
  startedAtMs: 0,
  seenAtMs: 999_000,
  isSelf: true,
  isGone: false,
  syncLagMs: 200,
  freshnessAgeMs: 10,
  clockOffsetMs: 5,
};

const MIB = 2 ** 20;
const DAY_MS = 86_400_000;

const WELL: Facts = {
  nowMs: 1_000_000,
  config: configOf(),
  stoppedBecause: null,
  commitFailure: null,
  databaseWarnings: [],
  nodes: [NODE],
  waiting: 0,
  webhooks: [{ host: 'a.example', pausedBecause: null, failingSinceMs: 990_000 }],
  otherTags: { refused: 3, lists: 0, bytes: 0 },
  disk: { freeBytes: 100_000 * MIB, totalBytes: 200_000 * MIB },
  walBytes: 4 * MIB,
  backups: { folder: '/backups', everyMs: 400_000, newestAtMs: 200_000, failure: null },
  oldestTransactionMs: 100,
  certificateExpiresAtMs: 1_000_000 + 15 * DAY_MS,
};

/** Each check, broken once: the facts, and what its text must tell. */
const BROKEN: Readonly<Record<string, readonly [facts: Partial<Facts>, tells: string]>> = {
  database: [{ commitFailure: 'The disk is full.' }, 'The disk is full.'],
  'database-settings': [{ databaseWarnings: ['fsync is off.'] }, 'fsync is off.'],
  disk: [{ disk: { freeBytes: 100 * MIB, totalBytes: 200_000 * MIB } }, '100 MiB of 200000 MiB'],
  queue: [{ waiting: 10_000 }, '10000 spends and changes wait'],
  nodes: [
    { nodes: [NODE, { ...NODE, id: 'node_2', isGone: true, seenAtMs: 400_000 }] },
    'node_2, last seen 10 minutes',
  ],
  freshness: [{ nodes: [{ ...NODE, freshnessAgeMs: 1_001 }] }, 'eu (1001 ms)'],
  'local-counts': [{ nodes: [{ ...NODE, syncLagMs: 10_001 }] }, 'eu (10 seconds ago)'],
  tls: [{ config: configOf({ KEYSTILE_HOST: '0.0.0.0' }) }, 'listens on 0.0.0.0 without TLS'],
  certificate: [{ certificateExpiresAtMs: 1_000_000 + DAY_MS }, 'expires in 24 hours'],
  webhooks: [
    { webhooks: [{ host: 'a.example', pausedBecause: null, failingSinceMs: 1_000 }] },
    'a.example has failed for 17 minutes',
  ],
  backups: [
    { backups: { folder: '/backups', everyMs: 300_000, newestAtMs: 300_000, failure: 'The disk is full.' } },
    'The last scheduled backup failed: The disk is full. The newest one is 12 minutes old.',
  ],
  'lost-commits': [{ config: configOf({ KEYSTILE_ACCEPT_LOST_COMMITS: 'on' }) }, 'KEYSTILE_ACCEPT_LOST_COMMITS is on'],
  'write-ahead-log': [{ walBytes: 300 * MIB }, '300 MiB'],
  transactions: [{ oldestTransactionMs: 600_000 }, 'open for 10 minutes'],
  clocks: [{ nodes: [{ ...NODE, clockOffsetMs: -5_000 }] }, 'eu (5000 ms ahead)'],
  versions: [{ nodes: [NODE, { ...NODE, id: 'node_2', version: '1.1.0' }] }, '1.0.0, 1.1.0'],
  'root-key': [{ config: configOf({ KEYSTILE_ROOT_KEY: 'root_0123456789abcdefghijkl' }) }, 'KEYSTILE_ROOT_KEY'],
  tags: [{ otherTags: { refused: 0, lists: 2, bytes: 1 } }, '3 verifications'],
};

describe('checks', () => {
  test('nothing is found where all is well, and every check says what it makes sure of', () => {
    const { problems, checks } = examine(WELL);
    expect(problems).toEqual([]);
    expect(checks.every(({ isOk, meaning }) => isOk && meaning.endsWith('.'))).toBe(true);
  });

  test('each check has a case here, and a name of its own', () => {
    expect(CHECKS.map(({ name }) => name)).toEqual(Object.keys(BROKEN));
  });

  test.each(Object.entries(BROKEN))('%s finds what is wrong, alone, and says what to do', (name, [facts, tells]) => {
    const { problems, checks } = examine({ ...WELL, ...facts });
    expect(problems.map((each) => each.name)).toEqual([name]);
    expect(problems[0]?.text).toContain(tells);
    expect(problems[0]?.fix).toEndWith('.');
    expect(checks.filter(({ isOk }) => !isOk).map((each) => each.name)).toEqual([name]);
  });

  test('a backup that was due twice is missing, and one that failed is told even when there is none yet', () => {
    const state = { folder: '/backups', everyMs: 300_000, newestAtMs: 340_000, failure: null };
    const problemsOf = (backups: Facts['backups']) => examine({ ...WELL, backups }).problems.map(({ text }) => text);
    expect(problemsOf(state)).toEqual(['A backup is due every 5 minutes. The newest one is 11 minutes old.']);
    expect(problemsOf({ ...state, newestAtMs: 340_001 })).toEqual([]);
    expect(problemsOf({ ...state, newestAtMs: null })).toEqual([]);
    expect(problemsOf({ ...state, newestAtMs: null, failure: 'No.' })).toEqual([
      'The last scheduled backup failed: No. There is no backup yet.',
    ]);
    expect(problemsOf(null)).toEqual([]);
  });

  test('a webhook that is paused is told with its reason, and a public address behind TLS is none', () => {
    const paused = { host: 'b.example', pausedBecause: 'it answered 500', failingSinceMs: null };
    expect(examine({ ...WELL, webhooks: [paused] }).problems[0]?.text).toContain('is paused (it answered 500)');
    const config = configOf({ KEYSTILE_HOST: '0.0.0.0', KEYSTILE_PUBLIC_URL: 'https://keys.example' });
    expect(examine({ ...WELL, config }).problems).toEqual([]);
    const plain = configOf({
      KEYSTILE_HOST: '0.0.0.0',
      KEYSTILE_PUBLIC_URL: 'http://keys.example',
      KEYSTILE_TRUSTED_PROXIES: '10.0.0.1',
    });
    expect(examine({ ...WELL, config: plain }).problems.map(({ name }) => name)).toEqual(['tls']);
    expect(examine({ ...WELL, disk: null, walBytes: null }).problems).toEqual([]);
  });
});
