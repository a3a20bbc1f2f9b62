import { constants } from 'node:fs';
import { appendFile, copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { give } from './account.ts';

/** The data folder of a server, as files. */

/** What belongs to the running server alone, or comes to a standby by streaming. */
const NOT_FOR_A_STANDBY = /^(postmaster\.(pid|opts)|(pg_wal|pg_replslot|pg_dynshmem|pg_stat_tmp)\/.*)$/;

export function copyTemplate(from: string, to: string): Promise<void> {
  return copyFolder(from, to, '', () => true);
}

/** Of a running server, between the beginning and the end of a backup. */
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

/** A running server deletes files under way. What it still needs of them is in its log, which a standby replays. */
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

/** Makes a copy of a running server a standby. What ALTER SYSTEM had set there is not taken over. */
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
