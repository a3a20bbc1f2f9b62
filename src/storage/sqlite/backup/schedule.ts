import { mkdirSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import type { Task, TaskLog, Turn } from '../../port/tasks.ts';
import { BackupError } from './backupError.ts';
import { type MadeBackup, removeLeftovers } from './makeBackup.ts';

/** How often it checks whether a backup is due. Checking costs nothing. */
const LOOK_EVERY_MS = 1_000;
/** How often it lists the folder: somebody may have removed the files, or the disk. */
const LIST_EVERY_MS = 60_000;
/** After a failure it waits this long, or one period if that is shorter: a large copy that fails at its end costs work too. */
const RETRY_AFTER_MS = 10 * 60_000;

interface ScheduleOptions {
  /** Where the backups go. A start creates this folder if it is missing, but not the folders above it: their disk may not be mounted. */
  readonly folder: string;
  readonly everyMs: number;
  /** How many are kept. */
  readonly keep: number;
  readonly workspaceId: string;
  readonly folderId: string;
  readonly nowMs: () => number;
  readonly make: (file: string, nowMs: number) => Promise<MadeBackup>;
  readonly log: Pick<TaskLog, 'info'>;
}

/** The state of scheduled backups. */
interface BackupState {
  readonly folder: string;
  readonly everyMs: number;
  /** null = there is none. */
  readonly newestAtMs: number | null;
  /** Since when the first backup is expected; null = there was one, or no service makes them. */
  readonly firstAwaitedSinceMs: number | null;
  /** Why the last backup failed, or the folder cannot be listed; null = neither. */
  readonly failure: string | null;
}

/**
 * Makes a backup when the newest one in the folder is one period old, then removes the oldest ones. The time of a backup is in its name, so
 * a restart does not begin a new period. If a backup has a time in the future, the clock was wrong then or is wrong now: that backup is
 * neither counted nor removed.
 */
export class BackupSchedule implements Task {
  readonly name = 'making a backup';
  readonly everyMs = LOOK_EVERY_MS;
  readonly #options: ScheduleOptions;
  readonly #series: BackupSeries;
  readonly #startedAtMs: number;
  /** The newest backup in the last list. */
  #newestAtMs: number | null = null;
  #listedAtMs: number | null = null;
  #hadOne = false;
  #failed: { readonly atMs: number; readonly reason: string } | null = null;

  constructor(options: ScheduleOptions) {
    this.#options = options;
    this.#series = new BackupSeries(options.folder, options);
    this.#startedAtMs = options.nowMs();
  }

  async run(turn: Turn): Promise<void> {
    const nowMs = this.#options.nowMs();
    if (this.#rests(nowMs) || !(this.#isDue(nowMs) || this.#isUnlisted(nowMs))) return;
    // A stopping process does not wait for the copy. Its leftovers are removed later.
    await turn.until(this.#runDue(nowMs));
  }

  /** The age of the newest backup in the last list; null = there is none. */
  get ageMs(): number | null {
    return this.#newestAtMs === null ? null : Math.max(0, this.#options.nowMs() - this.#newestAtMs);
  }

  async readState(): Promise<BackupState> {
    const { folder, everyMs, nowMs } = this.#options;
    const found = await this.#series.list(nowMs()).then(newestOf, reasonOf);
    const unlisted = typeof found === 'string' ? found : null;
    return {
      folder: resolve(folder),
      everyMs,
      newestAtMs: typeof found === 'string' ? null : found,
      firstAwaitedSinceMs: this.#hadOne ? null : this.#startedAtMs,
      // Before the first run, the folder may still be missing.
      failure: this.#failed?.reason ?? (this.#listedAtMs === null ? null : unlisted),
    };
  }

  async #runDue(nowMs: number): Promise<void> {
    try {
      this.#note(newestOf(await this.#open(nowMs)));
      this.#listedAtMs = nowMs;
      if (this.#isDue(nowMs)) await this.#make(nowMs);
      this.#failed = null;
    } catch (error) {
      this.#failed = { atMs: nowMs, reason: reasonOf(error) };
      throw error;
    }
  }

  async #make(nowMs: number): Promise<void> {
    const { folder, make, log, keep } = this.#options;
    const { file, bytes } = await make(join(folder, this.#series.nameAt(nowMs)), nowMs);
    this.#note(nowMs);
    log.info('a backup was made', { file, bytes });
    const kept = await this.#series.list(nowMs);
    for (const { name } of kept.slice(0, Math.max(0, kept.length - keep))) {
      await rm(join(folder, name), { force: true });
      log.info('an old backup was removed', { file: resolve(folder, name) });
    }
  }

  #note(newestAtMs: number | null): void {
    this.#newestAtMs = newestAtMs;
    this.#hadOne ||= newestAtMs !== null;
  }

  #isDue(nowMs: number): boolean {
    const newestAtMs = this.#newestAtMs;
    return newestAtMs === null || newestAtMs > nowMs || nowMs - newestAtMs >= this.#options.everyMs;
  }

  #isUnlisted(nowMs: number): boolean {
    const listedAtMs = this.#listedAtMs;
    return listedAtMs === null || listedAtMs > nowMs || nowMs - listedAtMs >= LIST_EVERY_MS;
  }

  #rests(nowMs: number): boolean {
    if (this.#failed === null || this.#failed.atMs > nowMs) return false;
    return nowMs - this.#failed.atMs < Math.min(RETRY_AFTER_MS, this.#options.everyMs);
  }

  /** At the start: creates the folder, removes the leftovers of a killed process, and lists the backups. */
  async #open(nowMs: number): Promise<readonly Kept[]> {
    const { folder } = this.#options;
    if (this.#listedAtMs === null && this.#failed === null) makeFolder(folder);
    try {
      removeLeftovers(folder, (result) => this.#series.timeOf(result) !== null);
    } catch (error) {
      throw unusable(folder, error);
    }
    return this.#series.list(nowMs);
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as { code?: string }).code !== 'EEXIST') throw unusable(folder, error);
  }
}

function newestOf(kept: readonly Kept[]): number | null {
  return kept.at(-1)?.atMs ?? null;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A scheduled backup in its folder. */
interface Kept {
  readonly name: string;
  readonly atMs: number;
}

/**
 * The scheduled backups of one data folder. Their names contain the id of the installation, the id of the data folder and the time. So
 * several services can share a folder, and a restored copy, which has another data folder, removes no backup of the original.
 */
export class BackupSeries {
  readonly #folder: string;
  readonly #prefix: string;

  constructor(folder: string, ids: { readonly workspaceId: string; readonly folderId: string }) {
    this.#folder = folder;
    this.#prefix = `keystile-${ids.workspaceId}-${ids.folderId}-`;
  }

  nameAt(atMs: number): string {
    return `${this.#prefix}${new Date(atMs).toISOString().replaceAll(/[:.]/g, '-')}.backup`;
  }

  /** null = this is not the name of a backup of this series. */
  timeOf(name: string): number | null {
    const [, day, hour, minute, second, milliseconds] =
      /-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z\.backup$/.exec(name) ?? [];
    if (day === undefined) return null;
    const atMs = Date.parse(`${day}T${hour}:${minute}:${second}.${milliseconds}Z`);
    return Number.isFinite(atMs) && this.nameAt(atMs) === name ? atMs : null;
  }

  /** The backups up to now, oldest first. A folder that cannot be listed is an error, not an empty folder. */
  async list(nowMs: number): Promise<readonly Kept[]> {
    const names = await readdir(this.#folder).catch((error: unknown) => {
      throw unusable(this.#folder, error);
    });
    const found = names.flatMap((name) => {
      const atMs = this.timeOf(name);
      return atMs === null || atMs > nowMs ? [] : [{ name, atMs }];
    });
    return found.toSorted((a, b) => a.atMs - b.atMs);
  }
}

function unusable(folder: string, error: unknown): BackupError {
  const code = (error as { code?: string }).code ?? String(error);
  const advice =
    code === 'ENOENT'
      ? 'Check that its disk is mounted, or make the folder.'
      : 'Check that it is a folder in which this user may write.';
  return new BackupError(`The folder ${resolve(folder)} of KEYSTILE_BACKUP_FOLDER cannot be used (${code}). ${advice}`);
}
