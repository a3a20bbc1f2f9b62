import { Database } from 'bun:sqlite';
import { cpSync, readFileSync } from 'node:fs';

import { BackupFile } from '../../../src/storage/sqlite/backup/backupFile.ts';
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

/** A backup with a right checksum, of any parts. */
export function packed(parts: readonly (readonly [name: string, bytes: Uint8Array])[]): Uint8Array {
  const body = Buffer.concat([
    Buffer.from('keystile-backup 1\n{"program":"0.1.0","madeAtMs":1}\n'),
    ...parts.flatMap(([name, bytes]) => [Buffer.from(`${JSON.stringify({ name, bytes: bytes.length })}\n`), bytes]),
  ]);
  return Buffer.concat([body, Buffer.from(`sha256 ${new Bun.CryptoHasher('sha256').update(body).digest('hex')}\n`)]);
}

/** The backup of an original after a change of one of its databases, with a right checksum. */
export async function changedByHand(
  { folder }: Original,
  change: (path: string) => void,
  name: 'keystile.db' | 'analytics.db' = 'keystile.db',
): Promise<Uint8Array> {
  using unpacked = new TempFolder();
  await using backup = await BackupFile.open(folder.join('a.backup'), { keys: [], acceptsUnsigned: true });
  for (const part of backup.parts) await backup.extract(part, unpacked.join(part.name));
  change(unpacked.join(name));
  return packed(backup.parts.map((part) => [part.name, readFileSync(unpacked.join(part.name))]));
}

/** Runs statements. */
export const running =
  (sql: string) =>
  (path: string): void => {
    using db = new Database(path);
    db.run(sql);
  };
