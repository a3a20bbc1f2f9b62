import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';

import { BackupError } from './backupError.ts';

/** A scheduled backup in its folder. */
export interface Kept {
  readonly name: string;
  readonly atMs: number;
}

/**
 * The scheduled backups of one data folder. Their names hold the id of the installation, the id of the data folder and the time. So
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

  /** Those of up to now, the oldest first. A folder that cannot be listed is an error, and not an empty one. */
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

export function unusable(folder: string, error: unknown): BackupError {
  const code = (error as { code?: string }).code ?? String(error);
  const advice =
    code === 'ENOENT'
      ? 'Check that its disk is mounted, or make the folder.'
      : 'Check that it is a folder in which this user may write.';
  return new BackupError(`The folder ${resolve(folder)} of KEYSTILE_BACKUP_FOLDER cannot be used (${code}). ${advice}`);
}
