import type { Config } from '../../config/variables.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import type { CopyTrust } from '../../storage/sql/copySignature.ts';
import {
  type DataHeader,
  type DataTrailer,
  provenExport,
  type ProvenExport,
} from '../../storage/sql/move/dataFormat.ts';
import type { DataTarget } from '../../storage/sql/move/dataPorts.ts';
import { partialFolderOf } from '../../storage/sqlite/backup/partialFolder.ts';
import { realFolder } from '../../storage/sqlite/backup/restoreTarget.ts';
import { SqliteDataTarget } from '../../storage/sqlite/move/writeData.ts';
import { Digester, realSystem, wallClockMs } from '../../system.ts';
import { DataError } from '../../storage/sql/move/dataError.ts';
import { removeWhenStopped } from '../backup/removeWhenStopped.ts';
import { failed } from '../cliError.ts';
import type { Io } from '../io.ts';
import { DataProgress } from './dataProgress.ts';
import { type Chunks, checkWhole, chunksOf, DataReader, openExport } from './dataReader.ts';
import { LOAD_POSTGRES } from './loadPostgres.ts';
import { readImport } from './readImport.ts';

export interface Imported {
  readonly header: DataHeader;
  readonly trailer: DataTrailer;
  /** The last line that an earlier import had stored; 0 = there was none. */
  readonly resumedAfter: number;
  readonly authenticity: ProvenExport;
}

export interface ImportCall {
  readonly config: Config;
  /** Null: standard input. */
  readonly file: string | null;
  /** Asked before anything is made. Throws when the operator has not accepted what the header says. */
  readonly accept: (header: DataHeader) => void;
  readonly acceptsUnsigned: boolean;
}

/** Fills a new data folder or an empty database from an export. */
export async function importData(io: Io, call: ImportCall): Promise<Imported> {
  const { file } = call;
  if (file === null) return importFrom(io, call, { name: 'Standard input', chunks: streamOf(io), size: null });
  await using handle = await openExport(file);
  const size = await checkWhole(file, handle, trustOf(call));
  return await importFrom(io, call, { name: file, chunks: chunksOf(handle, size), size });
}

function trustOf({ config, acceptsUnsigned }: ImportCall): CopyTrust {
  return { keys: config.copyKey ?? [], acceptsUnsigned };
}

interface Input {
  readonly name: string;
  readonly chunks: Chunks;
  readonly size: number | null;
}

async function importFrom(io: Io, call: ImportCall, { name, chunks, size }: Input): Promise<Imported> {
  const { config, file, accept } = call;
  const reader = new DataReader(name, chunks);
  const header = await reader.header();
  accept(header);
  const progress = new DataProgress(io, size);
  const fill = async (): Promise<Imported> => {
    const target = await openTarget(config, header, file === null);
    try {
      const proven = { authenticity: 'unsigned' as ProvenExport };
      const prove = (found: DataTrailer): void => {
        try {
          proven.authenticity = provenExport(name, found, trustOf(call));
        } catch (error) {
          if (!(error instanceof DataError) || config.databaseUrl === null) throw error;
          throw new DataError(`${error.message} The database has its rows, and no service takes them: drop it.`);
        }
      };
      const trailer = await readImport(reader, target, { name, header, nowMs: wallClockMs, progress, prove });
      return { header, trailer, resumedAfter: target.stored.line, ...proven };
    } finally {
      await target.close();
    }
  };
  try {
    if (config.databaseUrl !== null) return await fill();
    return await removeWhenStopped(partialFolderOf(realFolder(config.data)), fill);
  } finally {
    progress.end();
  }
}

async function openTarget(
  { data, databaseUrl, allowFsyncOff }: Config,
  header: DataHeader,
  isPiped: boolean,
): Promise<DataTarget> {
  if (databaseUrl === null) return SqliteDataTarget.open(data, { exportId: header.exportId, folderId: newFolderId() });
  const { PostgresDataTarget } = await LOAD_POSTGRES.write();
  return PostgresDataTarget.open(databaseUrl, header, { allowFsyncOff, isPiped });
}

function streamOf({ streamStdin }: Io): Chunks {
  if (streamStdin === undefined) throw failed('This process has no standard input. Name a file instead of -.');
  return streamStdin();
}

function newFolderId(): string {
  const { randomBytes } = realSystem(new Digester(null));
  return makeId('folder', wallClockMs(), randomBytes(ID_RANDOM_BYTES));
}
