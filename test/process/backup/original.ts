import { cpSync } from 'node:fs';

import { keystile, type Ran } from '../cli/cliRun.ts';
import { TempFolder } from '../process.ts';
import { Server } from '../server.ts';

/** A data folder with one key of 10 credits, and its backup `a.backup`. No service runs. */
export interface Original {
  readonly folder: TempFolder;
  readonly keyId: string;
}

export async function makeOriginal(): Promise<Original> {
  const folder = new TempFolder();
  await using server = await Server.start(folder);
  const { keyId } = await server.createKey({ remaining: 10 });
  await server.stop();
  const { code, err } = await create(folder, 'a.backup');
  if (code !== 0) throw new Error(err);
  return { folder, keyId };
}

export function create(folder: TempFolder, file: string, ...flags: string[]): Promise<Ran> {
  const environment = { KEYSTILE_DATA: folder.join('data') };
  return keystile(['backup', 'create', folder.join(file), ...flags], { environment });
}

/** The same for one test. */
export function copyOf({ folder }: Original): TempFolder {
  const copy = new TempFolder();
  cpSync(folder.path, copy.path, { recursive: true });
  return copy;
}
