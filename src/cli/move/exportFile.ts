import { renameSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import { DataError } from '../../storage/sql/move/dataError.ts';
import { HEADER_START } from '../../storage/sql/move/dataFormat.ts';
import { makePartialFolder, partialFolderOf } from '../../storage/sqlite/backup/partialFolder.ts';
import { flushFolder } from '../../storage/sqlite/file/dataFolder.ts';
import { targetProblem } from '../../storage/sqlite/file/targetFile.ts';
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
  refuseTarget(file, options);
  try {
    return await fill(file, options, write);
  } finally {
    removeUnfinished(file);
  }
}

/** What there is of a file that has no name yet. */
export function removeUnfinished(file: string): void {
  rmSync(partialFolderOf(file), { recursive: true, force: true });
}

function refuseTarget(file: string, { replaces }: FileOptions): void {
  const problem = targetProblem(file, EXPORT, replaces);
  if (problem !== null) throw new DataError(problem);
}

async function fill<T>(file: string, options: FileOptions, write: (sink: Sink) => Promise<T>): Promise<T> {
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
  // The export took time: what is at its place now may be another file.
  refuseTarget(file, options);
  await options.beforeName();
  renameSync(path, file);
  options.named();
  flushFolder(dirname(file));
  return written;
}
