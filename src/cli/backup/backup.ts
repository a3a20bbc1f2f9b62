import { mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';

import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import type { CopyKeys, CopyTrust } from '../../storage/sql/copySignature.ts';
import { BackupError } from '../../storage/sqlite/backup/backupError.ts';
import { BackupFile } from '../../storage/sqlite/backup/backupFile.ts';
import type { BackupHeader } from '../../storage/sqlite/backup/backupFormat.ts';
import { type CopyContents, inspectCopy } from '../../storage/sqlite/backup/inspectCopy.ts';
import { makeBackup, type MadeBackup } from '../../storage/sqlite/backup/makeBackup.ts';
import { partialFolderOf } from '../../storage/sqlite/backup/partialFolder.ts';
import { type Restored, restoreBackup } from '../../storage/sqlite/backup/restoreBackup.ts';
import { realFolder, refuseFolder } from '../../storage/sqlite/backup/restoreTarget.ts';
import { Digester, realSystem, wallClockMs } from '../../system.ts';
import { VERSION } from '../../version.ts';
import type { Io } from '../io.ts';
import { removeWhenStopped } from './removeWhenStopped.ts';
import { StepProgress } from './stepProgress.ts';

/** What the commands on backups do, without what they print. */

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
