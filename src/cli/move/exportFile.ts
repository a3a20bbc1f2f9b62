import { renameSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import { DataError } from '../../storage/sql/move/dataError.ts';
import { HEADER_START } from '../../storage/sql/move/dataFormat.ts';
import { makePartialFolder, partialFolderOf } from '../../storage/sqlite/backup/partialFolder.ts';
import { flushFolder } from '../../storage/sqlite/file/dataFolder.ts';
import { targetProblem } from '../../storage/sqlite/file/targetFile.ts';
import { toWriteFailure } from '../../storage/sqlite/file/writeFailure.ts';
import { removeWhenStopped } from '../backup/removeWhenStopped.ts';
import type { Sink } from './dataWriter.ts';

export interface FileOptions {
  readonly file: string;
  /** Replace an older export. */
  readonly replaces: boolean;
  /** Called when the file is whole and flushed, before it gets its name. */
  readonly beforeName: () => Promise<void>;
  /** Called when the file has its name. */
  readonly named: () => void;
}

const EXPORT = { words: 'an export', begin: new RegExp(`^${RegExp.escape(HEADER_START)}`) };

/** Makes a file (0600). Until it is whole and flushed, it has another name. */
export async function exportToFile<T>(options: FileOptions, write: (sink: Sink) => Promise<T>): Promise<T> {
  const file = resolve(options.file);
  return removeWhenStopped(partialFolderOf(file), async () => {
    try {
      const problem = targetProblem(file, EXPORT, options.replaces);
      if (problem !== null) throw new DataError(problem);
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

/** Failures of the system and of SQLite. Others have a sentence of their own. */
function toDataError(file: string, error: unknown): unknown {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== 'string' || !/^(?:E[A-Z0-9]+|SQLITE_\w+)$/.test(code)) return error;
  const failure = toWriteFailure(error);
  const advice =
    failure.kind === 'full' ? 'Make space, or name a file on another disk.' : 'Check the disk and the database.';
  return new DataError(`The export ${file} was not made (${failure.message}). Nothing is left of it. ${advice}`);
}
