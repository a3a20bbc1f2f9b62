import { closeSync, existsSync, openSync, readSync, renameSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import { DataError } from '../../storage/sql/move/dataError.ts';
import { HEADER_START } from '../../storage/sql/move/dataFormat.ts';
import { makePartialFolder, partialFolderOf } from '../../storage/sqlite/backup/partialFolder.ts';
import { flushFolder } from '../../storage/sqlite/file/dataFolder.ts';
import { toWriteFailure } from '../../storage/sqlite/file/writeFailure.ts';
import { removeWhenStopped } from '../backup/removeWhenStopped.ts';
import type { Sink } from './dataWriter.ts';

export interface FileOptions {
  readonly file: string;
  /** Replace an existing file. */
  readonly replaces: boolean;
  /** Called when the file is whole and flushed, before it gets its name. */
  readonly beforeName: () => Promise<void>;
  /** Called when the file has its name. */
  readonly named: () => void;
}

/** Makes a file (0600). Until it is whole and flushed, it has another name. */
export async function exportToFile<T>(options: FileOptions, write: (sink: Sink) => Promise<T>): Promise<T> {
  const file = resolve(options.file);
  refuseTarget(file, options.replaces);
  return removeWhenStopped(partialFolderOf(file), async () => {
    try {
      return await fill(file, options, write);
    } catch (error) {
      throw toDataError(file, error);
    } finally {
      rmSync(partialFolderOf(file), { recursive: true, force: true });
    }
  });
}

async function fill<T>(
  file: string,
  { beforeName, named }: FileOptions,
  write: (sink: Sink) => Promise<T>,
): Promise<T> {
  const path = join(makePartialFolder(file), 'data');
  const target = await open(path, 'wx', 0o600);
  let written: T;
  try {
    written = await write(async (bytes) => {
      for (let at = 0; at < bytes.length;) at += (await target.write(bytes, at, bytes.length - at)).bytesWritten;
    });
    await target.sync();
  } finally {
    await target.close();
  }
  await beforeName();
  renameSync(path, file);
  named();
  flushFolder(dirname(file));
  return written;
}

function refuseTarget(file: string, replaces: boolean): void {
  if (!existsSync(dirname(file)))
    throw new DataError(`The folder ${dirname(file)} does not exist. Create it, or name a file in another folder.`);
  const target = statSync(file, { throwIfNoEntry: false });
  if (target?.isDirectory() === true) throw new DataError(`${file} is a folder. Name a file in it.`);
  if (target === undefined) return;
  if (!target.isFile()) throw new DataError(`${file} is not a file. Use - for standard output.`);
  if (!replaces) throw new DataError(`${file} exists. Name another file, or replace it with --force.`);
  if (!beginsAsExport(file))
    throw new DataError(`${file} is not an export of Keystile, and --force replaces nothing else. Name another file.`);
}

/** What is not an export is somebody's file, named by mistake. */
function beginsAsExport(file: string): boolean {
  const start = Buffer.alloc(HEADER_START.length);
  const opened = openSync(file, 'r');
  try {
    readSync(opened, start);
  } finally {
    closeSync(opened);
  }
  return start.toString('latin1') === HEADER_START;
}

/** Failures of the system and of SQLite. Others have a sentence of their own. */
function toDataError(file: string, error: unknown): unknown {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== 'string' || !/^(?:E[A-Z0-9]+|SQLITE_\w+)$/.test(code)) return error;
  const failure = toWriteFailure(error);
  const advice =
    failure.kind === 'full' ? 'Make space, or name a file on another disk.' : 'Check the disk and the database.';
  return new DataError(`The export ${file} was not made (${failure.message}). Nothing is left of it. ${advice}`);
}
