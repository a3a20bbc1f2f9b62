import { constants } from 'node:fs';
import { appendFile, copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { give } from './account.ts';

/** Copies and changes the data folder of a server. */

/** Files that belong only to the running server, or that a standby receives by streaming. */
const NOT_FOR_A_STANDBY = /^(postmaster\.(pid|opts)|(pg_wal|pg_replslot|pg_dynshmem|pg_stat_tmp)\/.*)$/;

export function copyTemplate(from: string, to: string): Promise<void> {
  return copyFolder(from, to, '', () => true);
}

/** Copies the data of a running server, between the start and the end of a backup. */
export function copyRunning(from: string, to: string): Promise<void> {
  return copyFolder(from, to, '', (path) => !NOT_FOR_A_STANDBY.test(path));
}

async function copyFolder(from: string, to: string, inner: string, isWanted: (path: string) => boolean): Promise<void> {
  await mkdir(join(to, inner), { mode: 0o700 });
  await give(join(to, inner));
  const entries = await readdir(join(from, inner), { withFileTypes: true });
  await Promise.all(
    entries.map(async (entry) => {
      const path = join(inner, entry.name);
      if (!isWanted(path)) return;
      if (entry.isDirectory()) await copyFolder(from, to, path, isWanted);
      else await copyIfThere(join(from, path), join(to, path));
    }),
  );
}

/** A running server may delete a file during the copy. Its log, which a standby replays, has all that is needed. */
async function copyIfThere(from: string, to: string): Promise<void> {
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE);
    await give(to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

export async function appendSettings(data: string, settings: Readonly<Record<string, string>>): Promise<void> {
  await appendFile(join(data, 'postgresql.conf'), `\n${lines(settings)}`);
}

/** Turns a copy of a running server into a standby. Settings of ALTER SYSTEM are not kept. */
export async function makeStandby(data: string, backupLabel: string, primary: string): Promise<void> {
  const files = {
    backup_label: backupLabel,
    'standby.signal': '',
    'postgresql.auto.conf': lines({ primary_conninfo: primary }),
  };
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(data, name), text);
    await give(join(data, name));
  }
}

function lines(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`)
    .join('');
}
