import type { Client } from 'pg';

import { MOVED } from './movedFence.ts';
import { WrongServer } from './wrongServer.ts';
import type { TaskLog } from '../../port/tasks.ts';

/** The settings of the server that decide whether a reported commit survives a crash. All three can change while it runs. */
export interface DurabilityFacts {
  readonly fsync: boolean;
  readonly full_page_writes: boolean;
  /** A commit is reported only when a standby has it too. */
  readonly awaits_standby: boolean;
}

/** The facts as columns. `synchronous_commit` is not among them, because every connection sets its own (connector.ts). */
export const DURABILITY_COLUMNS = `current_setting('fsync') = 'on' AS fsync,
  current_setting('full_page_writes') = 'on' AS full_page_writes,
  current_setting('synchronous_standby_names') <> '' AS awaits_standby`;

/** If the database has not answered for this long, a node is not ready, even if it could answer from memory. */
const SILENCE_MS = 3_000;

const FSYNC_OFF =
  'PostgreSQL runs with fsync = off: a crash of its machine loses spends that were answered. Set fsync = on and reload PostgreSQL';
const FULL_PAGE_WRITES_OFF =
  'PostgreSQL runs with full_page_writes = off: a crash can leave half-written pages, unless its file system writes whole pages. Set full_page_writes = on and reload PostgreSQL.';
const STANDBY_GONE =
  'PostgreSQL does not wait for a synchronous standby any more (synchronous_standby_names is empty): a failover can lose spends that were answered. Set synchronous_standby_names again, or restart this node if the change is intended.';

/** Whether answered changes are safe on the server, by its last answer. */
export class Durability {
  readonly #allowsFsyncOff: boolean;
  #facts: DurabilityFacts = { fsync: true, full_page_writes: true, awaits_standby: false };
  #hasAwaited = false;
  #isMoved = false;

  constructor(allowsFsyncOff: boolean) {
    this.#allowsFsyncOff = allowsFsyncOff;
  }

  get facts(): DurabilityFacts {
    return this.#facts;
  }

  note({
    fsync,
    full_page_writes,
    awaits_standby,
    moved = false,
  }: DurabilityFacts & { readonly moved?: boolean }): void {
    this.#isMoved = moved;
    this.#facts = { fsync, full_page_writes, awaits_standby };
    this.#hasAwaited ||= awaits_standby;
  }

  /** Asked once at the start. Refuses a server that may lose what it reports. */
  async refuseUnsafe(client: Client): Promise<void> {
    const { rows } = await client.query<DurabilityFacts>(`SELECT ${DURABILITY_COLUMNS}`);
    if (rows[0] !== undefined) this.note(rows[0]);
    if (this.unsafeReason !== null)
      throw new WrongServer(`${FSYNC_OFF}, or set KEYSTILE_ALLOW_FSYNC_OFF=on for tests.`);
  }

  /** Why the promise "answered means durable" cannot be kept; null = it can. */
  get unsafeReason(): string | null {
    return this.#facts.fsync || this.#allowsFsyncOff ? null : `${FSYNC_OFF}.`;
  }

  /** Why the database is no longer used; null = it is used. */
  get movedReason(): string | null {
    return this.#isMoved ? MOVED : null;
  }

  /** Why nothing was confirmed for too long; null = something was. */
  silence({ ageMs, silentMs }: { readonly ageMs: number; readonly silentMs: number }): string | null {
    if (ageMs < SILENCE_MS) return null;
    const isStandby = this.#facts.awaits_standby && silentMs < SILENCE_MS;
    const what = isStandby ? 'No synchronous standby has acknowledged a write' : 'The database has not answered';
    return `${what} for ${Math.round(ageMs)} ms.`;
  }

  /** Settings that may be intended, but that the operator should know about. */
  get warnings(): readonly string[] {
    const { fsync, full_page_writes, awaits_standby } = this.#facts;
    return [
      !fsync && this.#allowsFsyncOff ? `${FSYNC_OFF}.` : null,
      full_page_writes ? null : FULL_PAGE_WRITES_OFF,
      this.#hasAwaited && !awaits_standby ? STANDBY_GONE : null,
    ].filter((warning) => warning !== null);
  }
}

export interface Watched {
  /** Why the node cannot keep its promises; null = it can. */
  readonly unsafeReason: string | null;
  readonly warnings: readonly string[];
}

/** Logs when a problem of the database begins and when it ends, once each. */
export class WarningWatch {
  readonly #watched: Watched;
  readonly #log: TaskLog;
  #told = new Set<string>();

  constructor(watched: Watched, log: TaskLog) {
    this.#watched = watched;
    this.#log = log;
  }

  look(): void {
    const { unsafeReason, warnings } = this.#watched;
    const now = new Set(unsafeReason === null ? warnings : [unsafeReason, ...warnings]);
    for (const problem of now) {
      if (this.#told.has(problem)) continue;
      const fields = { problem };
      if (problem === unsafeReason) this.#log.error('the database is not safe: this node is not ready', fields);
      else this.#log.warn('the database is less safe than it could be', fields);
    }
    for (const problem of this.#told)
      if (!now.has(problem)) this.#log.info('a problem of the database has ended', { problem });
    this.#told = now;
  }
}
