import { statfs } from 'node:fs/promises';

import type { Config } from '../config/variables.ts';
import { GONE_AFTER_MS } from '../core/health.ts';
import type { WebhookRecord } from '../core/records.ts';
import type { NodeStatus } from '../engine/admin/status.ts';
import type { OtherReason } from '../engine/analytics/tagLists.ts';
import type { RootKeyRecord } from '../model/access.ts';

interface DiskSpace {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** A webhook, as far as it can have trouble. */
interface WebhookFact {
  readonly id: string;
  /** The host of its target: the rest of the address can contain a secret. */
  readonly host: string;
  /** Why the service has paused it; null = it is not paused. */
  readonly pausedBecause: string | null;
  /** When its target began to fail; null = it does not. */
  readonly failingSinceMs: number | null;
}

/** How scheduled backups are doing. */
export interface BackupFact {
  readonly folder: string;
  readonly everyMs: number;
  /** null = there is none. */
  readonly newestAtMs: number | null;
  /** Since when the first one is awaited; null = there was one, or no service makes them. */
  readonly firstAwaitedSinceMs: number | null;
  /** Why the last one failed, or the folder cannot be listed; null = neither. */
  readonly failure: string | null;
  /** The service does not start with this folder. */
  readonly isRefused?: true;
}

/** The certificate of this node, and the files that the settings name. */
export interface CertificateFact {
  /** When the one in use expires; null = none is in use, because the files cannot be used. */
  readonly expiresAtMs: number | null;
  /** Why the files cannot be used, and what to do; null = they can. */
  readonly problem: string | null;
  /** The permission bits of the file with the private key; null = unknown. */
  readonly keyMode: number | null;
}

/** An address that the service listens on. */
export interface PortFact {
  readonly port: number;
  /** `taken` by another program; `ours` is held by the service itself; `unusable` for this user or on this machine. */
  readonly state: 'free' | 'ours' | 'taken' | 'unusable';
  /** What the system says about it; '' when there is nothing to say. */
  readonly reason: string;
  /** A port near it that is free; 0 = any. */
  readonly free: number;
}

/** How many connections of clients the limit of open files allows. */
export interface OpenFilesFact {
  /** null = unknown, or no limit. */
  readonly limit: number | null;
  /** Connections that fit under it; 0 = the service does not start. */
  readonly fitting: number;
  /** The limit that the configured connections need. */
  readonly needed: number;
}

export interface FolderEntry {
  /** '.' is the folder itself. */
  readonly name: string;
  /** The permission bits. */
  readonly mode: number;
  readonly uid: number;
  /** It belongs to this user. */
  readonly isOwn: boolean;
  /** This user can read and write it. */
  readonly isAccessible: boolean;
}

/** The data folder; null = there is no such folder. */
export type FolderFact = readonly FolderEntry[] | null;

/** Of the schema of the database. */
interface SchemaFact {
  /** 0 = the database is empty. */
  readonly version: number;
  /** The oldest program that can use it, by its schema version. */
  readonly compatibleFrom: number;
  /** The version that this program is made for. */
  readonly own: number;
  /** It was made by a program before 0.1.0, with other tables. */
  readonly isForeign: boolean;
}

export interface StandbyFact {
  /** The setting `synchronous_standby_names`; '' = commits wait for no standby. */
  readonly awaited: string;
  /** Standbys that take part in commits. */
  readonly synchronous: number;
}

/** Whether the running service can answer. */
interface ReadinessFact {
  /** Why it cannot; empty = it can. */
  readonly reasons: readonly string[];
  /** What to run: it ends a process that says nothing, or asks one that answers. */
  readonly command: string;
}

/** Why the database cannot be opened, or takes no commits. */
export interface DatabaseFailure {
  readonly text: string;
  /** What it refuses for good, or what is damaged: `counts` is analytics.db alone. null = something else. */
  readonly cause: 'rights' | 'tables' | 'pooler' | 'damage' | 'counts' | null;
}

/** Everything that the checks look at, read at one moment. */
export interface Facts {
  readonly nowMs: number;
  readonly config: Config;
  /** What is wrong with the settings, one sentence each. */
  readonly settingProblems: readonly string[];
  /** Which variables are ignored, and why, one sentence each. */
  readonly removedSettings: readonly string[];
  readonly port: PortFact;
  readonly metricsPort: PortFact;
  readonly openFiles: OpenFilesFact;
  readonly folder: FolderFact;
  /** The time of the database minus that of this machine. */
  readonly machineClockMs: number;
  readonly readiness: ReadinessFact;
  /** null = none. */
  readonly databaseFailure: DatabaseFailure | null;
  /** The main number of the version of PostgreSQL, and the oldest that can be used. */
  readonly databaseVersion: { readonly found: number; readonly oldest: number };
  /** Settings of the database that weaken a promise. */
  readonly databaseWarnings: readonly string[];
  readonly standby: StandbyFact;
  /** Connections that PostgreSQL still allows, and how many a node needs. */
  readonly sessions: { readonly free: number; readonly needed: number };
  readonly schema: SchemaFact;
  /** Why a start refuses the database as a copy from elsewhere; null = it does not. */
  readonly copyRefusal: string | null;
  /** Why a start refuses a database that was moved, or whose import is not finished; null = it does not. */
  readonly useRefusal: { readonly kind: 'moved' | 'import'; readonly text: string } | null;
  readonly rootKeys: readonly Omit<RootKeyRecord, 'secretDigest'>[];
  /** Whether there is the plan that KEYSTILE_DEFAULT_PLAN names; true also when the setting names none. */
  readonly hasDefaultPlan: boolean;
  readonly nodes: readonly NodeStatus[];
  /** Spends and changes that wait for the ledger. */
  readonly waiting: number;
  readonly webhooks: readonly WebhookFact[];
  /** Verifications whose tags were counted under `other`, since the start. */
  readonly otherTags: Readonly<Record<OtherReason, number>>;
  /** The disk of the data folder. */
  readonly disk: DiskSpace;
  /** The longer write-ahead log. */
  readonly walBytes: number;
  readonly backups: BackupFact;
  /** How long the oldest transaction on a shared database has been open. */
  readonly oldestTransactionMs: number;
  readonly certificate: CertificateFact;
}

export type FactName = keyof Facts;

export const FACT_NAMES = Object.keys({
  nowMs: true,
  config: true,
  settingProblems: true,
  removedSettings: true,
  port: true,
  metricsPort: true,
  openFiles: true,
  folder: true,
  machineClockMs: true,
  readiness: true,
  databaseFailure: true,
  databaseVersion: true,
  databaseWarnings: true,
  standby: true,
  sessions: true,
  schema: true,
  copyRefusal: true,
  useRefusal: true,
  rootKeys: true,
  hasDefaultPlan: true,
  nodes: true,
  waiting: true,
  webhooks: true,
  otherTags: true,
  disk: true,
  walBytes: true,
  backups: true,
  oldestTransactionMs: true,
  certificate: true,
} satisfies Record<FactName, true>) as FactName[];

/** A fact that could not be read, and why: it ends the sentence "not checked because". */
export class NotKnown {
  readonly because: string;

  constructor(because: string) {
    this.because = because;
  }
}

/** Of a service without TLS. */
export const PLAIN_HTTP = new NotKnown('the service has no certificate (KEYSTILE_TLS_CERT)');

/** What was found out. Who gathers facts says of each of them what it is, or why it is not known. */
export type GatheredFacts = { readonly [N in FactName]: Facts[N] | NotKnown };

/** The same reason for several facts. */
export function noneKnown<N extends FactName>(names: readonly N[], because: string): Record<N, NotKnown> {
  const unknown = new NotKnown(because);
  return Object.fromEntries(names.map((name) => [name, unknown])) as Record<N, NotKnown>;
}

/** Of what only the disk of an embedded database tells. */
export const ELSEWHERE = new NotKnown('the database is PostgreSQL, which has its own disk');
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

/** Of the webhooks that are in use, what can be wrong with each. `failing` says since when its target fails. */
export function webhookFacts(
  all: readonly WebhookRecord[],
  failing: ReadonlyMap<string, number>,
): readonly WebhookFact[] {
  return all
    .filter(({ enabled }) => enabled)
    .map(({ id, url, pausedBecause }) => ({
      id,
      host: URL.canParse(url) ? new URL(url).host : 'an address that cannot be read',
      pausedBecause,
      failingSinceMs: failing.get(id) ?? null,
    }));
}
