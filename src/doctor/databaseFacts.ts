import { statfs } from 'node:fs/promises';

import { GONE_AFTER_MS } from '../core/health.ts';
import type { NodeStatus } from '../engine/admin/status/serviceStatus.ts';
import { type BackupFact, type DiskSpace, NotKnown } from './facts.ts';

/** Of what only the disk of an embedded database tells. */
export const ELSEWHERE = new NotKnown('the database is PostgreSQL, with a disk of its own');
/** Of what only a shared database tells. */
export const ONE_PROCESS = new NotKnown('the database is embedded');

/** Of a service that makes no backups by itself. */
export const UNSCHEDULED = new NotKnown('no backups are scheduled (KEYSTILE_BACKUP_FOLDER)');

export async function readDisk(folder: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}

/** What the database and its surroundings tell. */
export interface DatabaseFacts {
  nodes(): Promise<readonly NodeStatus[]>;
  /** This node, as far as it knows itself. Shown when the list cannot be read. */
  self(): NodeStatus;
  disk(): Promise<DiskSpace | NotKnown>;
  walBytes(): number | NotKnown;
  backups(): Promise<BackupFact | NotKnown>;
  oldestTransactionMs(): Promise<number | NotKnown>;
}

interface EmbeddedNode {
  readonly id: string;
  readonly location: string;
  readonly version: string;
  readonly nowMs: () => number;
  /** The data folder. */
  readonly folder: string;
  readonly backups: { readState(): Promise<BackupFact> } | null;
}

/** Of the embedded database: there is one node, and its disk is here. */
export function embeddedFacts(
  storage: { readonly walBytes: number },
  { id, location, version, nowMs, folder, backups }: EmbeddedNode,
): DatabaseFacts {
  const startedAtMs = nowMs();
  const self = (): NodeStatus => ({
    id,
    location,
    version,
    startedAtMs,
    seenAtMs: nowMs(),
    isSelf: true,
    isGone: false,
    syncLagMs: null,
    freshnessAgeMs: null,
    clockOffsetMs: 0,
  });
  return {
    self,
    nodes: async () => [self()],
    disk: () => readDisk(folder),
    walBytes: () => storage.walBytes,
    backups: async () => (await backups?.readState()) ?? UNSCHEDULED,
    oldestTransactionMs: async () => ONE_PROCESS,
  };
}

type KnownNode = Omit<NodeStatus, 'isSelf' | 'isGone'>;

interface SharedDatabase {
  readonly self: Omit<KnownNode, 'seenAtMs' | 'syncLagMs'>;
  readonly ledger: { nowMs(): number };
  listNodes(): Promise<{ readonly nowMs: number; readonly nodes: readonly KnownNode[] }>;
  oldestTransactionMs(): Promise<number>;
}

/** The listed nodes, with which of them is this one (`selfId`) and which are gone. */
export function nodeStatuses(
  { nowMs, nodes }: { readonly nowMs: number; readonly nodes: readonly KnownNode[] },
  selfId: string | null,
): readonly NodeStatus[] {
  return nodes.map((each) => ({
    ...each,
    isSelf: each.id === selfId,
    isGone: nowMs - each.seenAtMs > GONE_AFTER_MS,
  }));
}

/** Of a database that nodes share. */
export function sharedFacts(storage: SharedDatabase): DatabaseFacts {
  const self = (): NodeStatus => ({
    ...storage.self,
    seenAtMs: storage.ledger.nowMs(),
    syncLagMs: null,
    isSelf: true,
    isGone: false,
  });
  return {
    self,
    async nodes() {
      const all = nodeStatuses(await storage.listNodes(), storage.self.id);
      return all.some(({ isSelf }) => isSelf) ? all : [self(), ...all];
    },
    disk: async () => ELSEWHERE,
    walBytes: () => ELSEWHERE,
    backups: async () => ELSEWHERE,
    oldestTransactionMs: () => storage.oldestTransactionMs(),
  };
}
