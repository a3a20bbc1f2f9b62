import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';

import { removeWhenStopped } from './removeWhenStopped.ts';
import { barOf } from './import/state.ts';
import type { Io } from './io.ts';
import { ID_RANDOM_BYTES, makeId } from '../core/ids.ts';
import type { CopyKeys, CopyTrust } from '../storage/sql/copySignature.ts';
import { BackupFile, type BackupHeader } from '../storage/sqlite/backup/backupFile.ts';
import { BackupError } from '../storage/sqlite/backup/backupError.ts';
import { type CopyContents, inspectCopy } from '../storage/sqlite/backup/inspectCopy.ts';
import { type BackupStep, type MadeBackup, makeBackup, partialFolderOf } from '../storage/sqlite/backup/makeBackup.ts';
import { realFolder, refuseFolder, restoreBackup, type Restored } from '../storage/sqlite/backup/restoreBackup.ts';
import { Digester, realSystem, wallClockMs } from '../bunPlatform.ts';
import { VERSION } from '../version.ts';

interface CreateOptions {
  readonly data: string;
  readonly file: string;
  readonly replaces: boolean;
  readonly copyKeys: CopyKeys;
}

export async function createBackup(io: Io, { data, file, replaces, copyKeys }: CreateOptions): Promise<MadeBackup> {
  const progress = new StepProgress(io);
  try {
    return await removeWhenStopped(partialFolderOf(file), () =>
      makeBackup({
        folder: data,
        file,
        replaces,
        nowMs: wallClockMs(),
        program: VERSION,
        copyKeys,
        onStep: (step) => progress.begin(step),
      }),
    );
  } finally {
    progress.end();
  }
}

export interface VerifiedBackup {
  readonly bytes: number;
  readonly header: BackupHeader;
  readonly hasEncryptionKey: boolean;
  readonly authenticity: BackupFile['authenticity'];
  readonly contents: CopyContents;
}

/** Reads a backup from end to end. Its databases are opened as files, so they are unpacked into a folder for temporary files. */
export async function verifyBackup(file: string, trust: CopyTrust): Promise<VerifiedBackup> {
  await using backup = await BackupFile.open(file, trust);
  const contents = await inspectInTemporaryFolder(backup).catch((error: unknown) => {
    throw error instanceof BackupError ? error : notUnpacked(backup, error);
  });
  const hasEncryptionKey = backup.parts.some(({ name }) => name === 'encryption-key');
  const { bytes, header, authenticity } = backup;
  return { bytes, header, hasEncryptionKey, authenticity, contents };
}

async function inspectInTemporaryFolder(backup: BackupFile): Promise<CopyContents> {
  const folder = mkdtempSync(join(tmpdir(), 'keystile-verify-'));
  try {
    return await removeWhenStopped(folder, () => inspectUnpacked(backup, folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function notUnpacked({ path, bytes }: BackupFile, error: unknown): BackupError {
  const reason = error instanceof Error ? error.message : String(error);
  return new BackupError(
    `The checksum of ${path} is right, but its databases could not be unpacked into ${tmpdir()} (${reason}). ` +
      `Set TMPDIR to a folder with ${Math.ceil(bytes / 2 ** 20)} MiB of free space.`,
  );
}

async function inspectUnpacked(backup: BackupFile, folder: string): Promise<CopyContents> {
  for (const part of backup.parts)
    if (part.name !== 'encryption-key') await backup.extract(part, join(folder, part.name));
  const paths = { path: join(folder, 'keystile.db'), analyticsPath: join(folder, 'analytics.db') };
  return inspectCopy(backup.path, paths);
}

interface RestoreCall {
  readonly file: string;
  readonly data: string;
  readonly movesAside: boolean;
  readonly trust: CopyTrust;
  /** Asked before anything is changed. Throws when the operator has not accepted what will be missing. */
  readonly accept: (madeAtMs: number) => void;
}

export async function restore(
  call: RestoreCall,
): Promise<Restored & { readonly madeAtMs: number; readonly authenticity: BackupFile['authenticity'] }> {
  await using backup = await BackupFile.open(call.file, call.trust);
  refuseFolder(call.data, call.movesAside);
  const { madeAtMs } = backup.header;
  call.accept(madeAtMs);
  const { randomBytes } = realSystem(new Digester(null));
  const nowMs = wallClockMs();
  const startedAt = new Date(nowMs).toISOString();
  const restored = await removeWhenStopped(partialFolderOf(realFolder(call.data)), () =>
    restoreBackup(backup, {
      folder: call.data,
      movesAside: call.movesAside,
      owner: { pid: process.pid, host: hostname(), startedAt, control: null, url: null },
      nowMs,
      newFolderId: () => makeId('folder', nowMs, randomBytes(ID_RANDOM_BYTES)),
    }),
  );
  return { ...restored, madeAtMs, authenticity: backup.authenticity };
}

const REDRAW_MS = 100;

/** Shows on a terminal how far the file of a step has grown. The work itself runs in another thread. */
export class StepProgress {
  readonly #io: Io;
  #step: BackupStep | null = null;
  #timer: ReturnType<typeof setInterval> | null = null;

  constructor(io: Io) {
    this.#io = io;
  }

  begin(step: BackupStep): void {
    if (!this.#io.isTerminal) return;
    this.#step = step;
    this.#draw();
    this.#timer ??= setInterval(() => this.#draw(), REDRAW_MS);
  }

  /** Ends the line that was drawn. */
  end(): void {
    if (this.#timer === null) return;
    clearInterval(this.#timer);
    this.#io.err('\r\u001b[K');
  }

  #draw(): void {
    if (this.#step === null) return;
    const { name, path, bytes } = this.#step;
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    // The escape sequence clears the rest of a longer line.
    this.#io.err(`\r${barOf(Math.min(1, size / Math.max(1, bytes)))}  ${name}\u001b[K`);
  }
}
