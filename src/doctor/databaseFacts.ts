import { statfs } from 'node:fs/promises';

import { GONE_AFTER_MS } from '../core/health.ts';
import type { NodeStatus } from '../engine/admin/status/serviceStatus.ts';
import type { BackupFact, DiskSpace } from './facts.ts';

/** What the database and its surroundings tell. */
export interface DatabaseFacts {
  nodes(): Promise<readonly NodeStatus[]>;
  /** This node, as far as it knows itself. Shown when the list cannot be read. */
  self(): NodeStatus;
  /** null: the database is elsewhere. */
  disk(): Promise<DiskSpace | null>;
  walBytes(): number | null;
  /** null: the service makes no backups by itself. */
  backups(): Promise<BackupFact | null>;
  oldestTransactionMs(): Promise<number>;
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
    disk: async () => {
      const { bavail, blocks, bsize } = await statfs(folder);
      return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
    },
    walBytes: () => storage.walBytes,
    backups: async () => (await backups?.readState()) ?? null,
    oldestTransactionMs: async () => 0,
  };
}

type KnownNode = Omit<NodeStatus, 'isSelf' | 'isGone'>;

interface SharedDatabase {
  readonly self: Omit<KnownNode, 'seenAtMs' | 'syncLagMs'>;
  readonly ledger: { nowMs(): number };
  listNodes(): Promise<{ readonly nowMs: number; readonly nodes: readonly KnownNode[] }>;
  oldestTransactionMs(): Promise<number>;
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
      const { nowMs, nodes } = await storage.listNodes();
      const { id } = storage.self;
      const all = nodes.map((each) => ({
        ...each,
        isSelf: each.id === id,
        isGone: nowMs - each.seenAtMs > GONE_AFTER_MS,
      }));
      return all.some(({ isSelf }) => isSelf) ? all : [self(), ...all];
    },
    disk: async () => null,
    walBytes: () => null,
    backups: async () => null,
    oldestTransactionMs: () => storage.oldestTransactionMs(),
  };
}
