import { readConfig } from '../../src/config/read.ts';
import type { Facts } from '../../src/doctor/facts.ts';
import type { NodeStatus } from '../../src/engine/admin/status.ts';

export function configOf(environment: Record<string, string> = {}): Facts['config'] {
  const { config, problems } = readConfig({ environment, flags: {}, readFile: () => '' });
  if (config === null) throw new Error(problems.join('\n'));
  return config;
}

export const NODE: NodeStatus = {
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

export const MIB = 2 ** 20;

export const DAY_MS = 86_400_000;

export const ROOT_KEY: Facts['rootKeys'][number] = {
  id: 'rk_1',
  start: 'root_abcd',
  name: 'deploy',
  rights: ['*'],
  createdAtMs: 0,
  expiresAtMs: null,
  revokedAtMs: null,
};
export const FREE = { port: 7878, state: 'free', reason: '', free: 7879 } as const;
export const TOP = { name: '.', mode: 0o755, uid: 1000, isOwn: true, isAccessible: true };
export const FILE = { name: 'keystile.db', mode: 0o600, uid: 1000, isOwn: true, isAccessible: true };

export const CERTIFICATE = { expiresAtMs: 1_000_000 + 15 * DAY_MS, problem: null, keyMode: 0o600 };

export const BACKUPS: Facts['backups'] = {
  folder: '/backups',
  everyMs: 400_000,
  newestAtMs: 200_000,
  firstAwaitedSinceMs: null,
  failure: null,
};

/** All is well. */
export const WELL: Facts = {
  nowMs: 1_000_000,
  config: configOf(),
  settingProblems: [],
  removedSettings: [],
  port: FREE,
  metricsPort: { ...FREE, state: 'ours' },
  openFiles: { limit: 1_000_000, fitting: 20_000, needed: 21_140 },
  folder: [TOP, FILE],
  machineClockMs: 1_000,
  readiness: { reasons: [], command: '' },
  databaseFailure: null,
  databaseVersion: { found: 14, oldest: 14 },
  databaseWarnings: [],
  standby: { awaited: 'ANY 1 (a)', synchronous: 1 },
  sessions: { free: 12, needed: 12 },
  schema: { version: 1, compatibleFrom: 1, own: 1, isForeign: false },
  copyRefusal: null,
  useRefusal: null,
  hasDefaultPlan: true,
  rootKeys: [ROOT_KEY, { ...ROOT_KEY, id: 'rk_2', expiresAtMs: 1_000_000 + 7 * DAY_MS + 1 }],
  nodes: [NODE],
  waiting: 0,
  webhooks: [{ id: 'wh_1', host: 'a.example', pausedBecause: null, failingSinceMs: 990_000 }],
  otherTags: { refused: 3, lists: 0, bytes: 0 },
  disk: { freeBytes: 100_000 * MIB, totalBytes: 200_000 * MIB },
  walBytes: 4 * MIB,
  backups: BACKUPS,
  oldestTransactionMs: 100,
  certificate: CERTIFICATE,
};
