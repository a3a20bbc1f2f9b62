import { mkdirSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import type { Task, TaskLog, Turn } from '../../port/tasks.ts';
import { BackupError } from './backupError.ts';
import type { MadeBackup } from './makeBackup.ts';
import { removeLeftovers } from './partialFolder.ts';

/** How often it asks whether a backup is due. Asking costs nothing. */
const LOOK_EVERY_MS = 1_000;
/** After a failure it waits for so long, or for one period if that is shorter: a large copy that fails at its end is work, too. */
const RETRY_AFTER_MS = 10 * 60_000;

export interface ScheduleOptions {
  /** Where the backups go. It is made when it is missing. */
  readonly folder: string;
  readonly everyMs: number;
  /** How many are kept. */
  readonly keep: number;
  /** Is in the names of the files: several installations can share a folder, and none removes the backups of another. */
  readonly workspaceId: string;
  readonly nowMs: () => number;
  readonly make: (file: string, nowMs: number) => Promise<MadeBackup>;
  readonly log: Pick<TaskLog, 'info'>;
}

/** How scheduled backups are doing. */
export interface BackupState {
  readonly folder: string;
  readonly everyMs: number;
  /** null = there is none. */
  readonly newestAtMs: number | null;
  /** Why the last one failed; null = it did not. */
  readonly failure: string | null;
}

interface Kept {
  readonly name: string;
  readonly atMs: number;
}

/**
 * Makes a backup when the newest one in the folder is a period old, and then removes the oldest ones. The time of a backup is in its
 * name, so a restart does not begin a new period. A backup with a time in the future was made by a wrong clock, then or now: it
 * neither counts nor is it removed.
 */
export class BackupSchedule implements Task {
  readonly name = 'making a backup';
  readonly everyMs = LOOK_EVERY_MS;
  readonly #options: ScheduleOptions;
  /** The newest one, as last seen. */
  #newestAtMs: number | null = null;
  #failed: { readonly atMs: number; readonly reason: string } | null = null;

  constructor(options: ScheduleOptions) {
    this.#options = options;
  }

  async run(turn: Turn): Promise<void> {
    const nowMs = this.#options.nowMs();
    if (!this.#isDue(nowMs) || this.#rests(nowMs)) return;
    // A process that stops does not wait for the copy. What is left of it is removed later.
    await turn.until(this.#runDue(nowMs));
  }

  /** How old the newest one is, as last seen; null = there is none. */
  get ageMs(): number | null {
    return this.#newestAtMs === null ? null : Math.max(0, this.#options.nowMs() - this.#newestAtMs);
  }

  async readState(): Promise<BackupState> {
    const { folder, everyMs, nowMs } = this.#options;
    const newest = (await this.#list(nowMs()).catch(() => [])).at(-1);
    return { folder, everyMs, newestAtMs: newest?.atMs ?? null, failure: this.#failed?.reason ?? null };
  }

  async #runDue(nowMs: number): Promise<void> {
    try {
      this.#newestAtMs = (await this.#open(nowMs)).at(-1)?.atMs ?? null;
      if (this.#isDue(nowMs)) await this.#make(nowMs);
      this.#failed = null;
    } catch (error) {
      this.#failed = { atMs: nowMs, reason: error instanceof Error ? error.message : String(error) };
      throw error;
    }
  }

  async #make(nowMs: number): Promise<void> {
    const { folder, make, log, keep } = this.#options;
    const { file, bytes } = await make(join(folder, this.#nameAt(nowMs)), nowMs);
    this.#newestAtMs = nowMs;
    log.info('a backup was made', { file, bytes });
    const kept = await this.#list(nowMs);
    for (const { name } of kept.slice(0, Math.max(0, kept.length - keep))) {
      await rm(join(folder, name), { force: true });
      log.info('an old backup was removed', { file: resolve(folder, name) });
    }
  }

  #isDue(nowMs: number): boolean {
    const newestAtMs = this.#newestAtMs;
    return newestAtMs === null || newestAtMs > nowMs || nowMs - newestAtMs >= this.#options.everyMs;
  }

  #rests(nowMs: number): boolean {
    if (this.#failed === null || this.#failed.atMs > nowMs) return false;
    return nowMs - this.#failed.atMs < Math.min(RETRY_AFTER_MS, this.#options.everyMs);
  }

  /** Makes the folder, removes what a killed process has left there, and lists the backups. */
  async #open(nowMs: number): Promise<readonly Kept[]> {
    const { folder } = this.#options;
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      removeLeftovers(folder, (result) => this.#timeOf(result) !== null);
      return await this.#list(nowMs);
    } catch (error) {
      const code = (error as { code?: string }).code ?? String(error);
      throw new BackupError(
        `The folder ${resolve(folder)} of KEYSTILE_BACKUP_FOLDER cannot be used (${code}). Check that this user may write there.`,
      );
    }
  }

  /** Those of this installation up to now, the oldest first. */
  async #list(nowMs: number): Promise<readonly Kept[]> {
    const found = (await readdir(this.#options.folder)).flatMap((name) => {
      const atMs = this.#timeOf(name);
      return atMs === null || atMs > nowMs ? [] : [{ name, atMs }];
    });
    return found.toSorted((a, b) => a.atMs - b.atMs);
  }

  #nameAt(nowMs: number): string {
    return `keystile-${this.#options.workspaceId}-${new Date(nowMs).toISOString().replaceAll(/[:.]/g, '-')}.backup`;
  }

  /** null = this is not the name of a backup of this installation. */
  #timeOf(name: string): number | null {
    const [, day, hour, minute, second, milliseconds] =
      /-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z\.backup$/.exec(name) ?? [];
    if (day === undefined) return null;
    const atMs = Date.parse(`${day}T${hour}:${minute}:${second}.${milliseconds}Z`);
    return Number.isFinite(atMs) && this.#nameAt(atMs) === name ? atMs : null;
  }
}
