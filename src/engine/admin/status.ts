import { type Actor, requireEverywhere } from './change/requireRight.ts';

/** A node as the status of the service shows it. */
export interface NodeStatus {
  readonly id: string;
  readonly location: string;
  readonly version: string;
  readonly startedAtMs: number;
  readonly seenAtMs: number;
  /** It answers this request. */
  readonly isSelf: boolean;
  /** It was not seen for long, and did not say that it stops. */
  readonly isGone: boolean;
  /** How long ago it last exchanged local counts; null = never, or there is no other node. */
  readonly syncLagMs: number | null;
  /** How old its knowledge of changes by others is; null = it makes all changes itself, or it is not known. */
  readonly freshnessAgeMs: number | null;
  /** The database's clock minus its own. */
  readonly clockOffsetMs: number;
}

/** What the answering node did since a moment. */
export interface WorkStatus {
  readonly sinceMs: number;
  readonly verifications: number;
  /** Milliseconds; null = there were no verifications. */
  readonly latency: { readonly p50: number; readonly p90: number; readonly p99: number } | null;
  readonly spends: number;
  readonly batches: number;
}

/** Something that is wrong (`problem`) or could be better (`advice`), and what to do. */
export interface Problem {
  readonly name: string;
  readonly severity: 'problem' | 'advice';
  readonly text: string;
  readonly fix: string;
  /** A command for a shell that does it, or leads there. */
  readonly command: string;
}

/** What is looked at, and whether all is well with it. */
export interface CheckStatus {
  readonly name: string;
  readonly meaning: string;
  readonly isOk: boolean;
}

interface SettingStatus {
  readonly name: string;
  readonly value: string;
  readonly origin: 'default' | 'environment' | 'file' | 'flag';
  readonly meaning: string;
}

export interface ServiceStatus {
  readonly nowMs: number;
  readonly version: string;
  readonly nodes: readonly NodeStatus[];
  readonly work: WorkStatus;
  readonly problems: readonly Problem[];
  readonly checks: readonly CheckStatus[];
  readonly settings: readonly SettingStatus[];
}

/** Reads how the service is doing. It tells of addresses and settings, so it needs a right of its own. */
export class StatusAdmin {
  readonly #read: () => Promise<ServiceStatus>;

  constructor(read: () => Promise<ServiceStatus>) {
    this.#read = read;
  }

  async read(actor: Actor): Promise<ServiceStatus> {
    requireEverywhere(actor, 'service.read_status');
    return this.#read();
  }
}
