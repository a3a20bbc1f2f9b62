import { existsSync } from 'node:fs';
import { join } from 'node:path';

import type { Config } from '../../config/variables.ts';
import { ID_RANDOM_BYTES, makeId } from '../../core/ids.ts';
import type { DataSource } from '../../storage/sql/move/dataPorts.ts';
import { SqliteDataSource } from '../../storage/sqlite/move/readData.ts';
import { Digester, realSystem, wallClockMs } from '../../system.ts';
import { failed } from '../cliError.ts';
import type { Io } from '../io.ts';
import { DataProgress } from './dataProgress.ts';
import type { Sink } from './dataWriter.ts';
import { exportToFile } from './exportFile.ts';
import { holdForMove } from './hold.ts';
import { LOAD_POSTGRES } from './loadPostgres.ts';
import type { SourceHold } from './sourceHold.ts';
import { writeExport, type WriteOptions, type WrittenExport } from './writeExport.ts';

export interface ExportCall {
  readonly config: Config;
  /** Null: standard output. */
  readonly file: string | null;
  readonly replaces: boolean;
  readonly moves: boolean;
}

export interface Exported extends WrittenExport {
  readonly exportId: string;
  readonly takenAtMs: number;
  /** The file that encrypts the secrets of webhooks, when they need it. */
  readonly encryptionKeyFile: string | null;
}

/** Writes everything that the database has into a file, or to standard output. */
export async function exportData(io: Io, call: ExportCall): Promise<Exported> {
  const { file, replaces } = call;
  const moving = new Moving(call, newExportId());
  const progress = new DataProgress(io, null);
  // A pipe has no name to get: an import of it is finished by the trailer.
  const finish = (): Promise<void> => moving.finish();
  const finishPipe = async (): Promise<void> => {
    await moving.finish();
    moving.mayBeWhole = true;
  };
  const write = (sink: Sink): Promise<Exported> =>
    writeFrom(moving, sink, { progress, beforeTrailer: file === null ? finishPipe : async () => {} });
  try {
    if (file === null) return await write(standardOutput(io));
    const named = (): void => void (moving.mayBeWhole = true);
    return await exportToFile({ file, replaces, beforeName: finish, named }, write);
  } catch (error) {
    if (moving.isFinished) io.err(adviceAfter(moving, file));
    throw error;
  } finally {
    progress.end();
    await moving.hold?.close();
  }
}

/** An export, and the hold of its source if it is a move. */
class Moving {
  readonly config: Config;
  readonly exportId: string;
  readonly #moves: boolean;
  hold: SourceHold | null = null;
  isFinished = false;
  /** Someone may use the export: the file has its name, or the trailer was sent. */
  mayBeWhole = false;

  constructor({ config, moves }: ExportCall, exportId: string) {
    this.config = config;
    this.exportId = exportId;
    this.#moves = moves;
  }

  async begin(): Promise<void> {
    if (this.#moves) this.hold = await holdForMove(this.config, this.exportId);
  }

  async finish(): Promise<void> {
    await this.hold?.finish();
    this.isFinished = this.#moves;
  }
}

/** The export has failed after the service was held for good. */
function adviceAfter({ mayBeWhole }: Moving, file: string | null): string {
  if (!mayBeWhole)
    return 'The service is held, and the export is not whole. Let it go on with keystile data release.\n';
  const what = file === null ? 'the import at the other end of the pipe' : file;
  return `The service is held. Check whether ${what} is whole: only one of the two services may go on. If it is not whole, let this one go on with keystile data release.\n`;
}

async function writeFrom(
  moving: Moving,
  sink: Sink,
  options: Pick<WriteOptions, 'progress' | 'beforeTrailer'>,
): Promise<Exported> {
  const { config, exportId } = moving;
  await moving.begin();
  const { hold } = moving;
  const takenAtMs = wallClockMs();
  const source = await openSource(config);
  try {
    const holdAccounts = hold === null ? null : () => hold.accounts();
    const written = await writeExport(source, sink, { ...options, exportId, takenAtMs, holdAccounts });
    return { ...written, exportId, takenAtMs, encryptionKeyFile: keyFile(config, written) };
  } finally {
    await source.close();
  }
}

async function openSource({ data, databaseUrl }: Config): Promise<DataSource> {
  if (databaseUrl === null) return SqliteDataSource.open(data);
  const { PostgresDataSource } = await LOAD_POSTGRES.read();
  return PostgresDataSource.open(databaseUrl);
}

function standardOutput(io: Io): Sink {
  const { writeOut } = io;
  if (writeOut === undefined) throw failed('This process has no standard output for an export. Name a file.');
  return async (bytes) => {
    await writeOut(bytes).catch((error: unknown) => {
      const reason = (error as { code?: string }).code ?? String(error);
      throw failed(`The export was not written: standard output was closed (${reason}).`);
    });
  };
}

function keyFile({ data, databaseUrl, encryptionKey }: Config, { rows }: WrittenExport): string | null {
  const path = join(data, 'encryption-key');
  const isNeeded = (rows['webhooks'] ?? 0) > 0 && databaseUrl === null && encryptionKey === null;
  return isNeeded && existsSync(path) ? path : null;
}

function newExportId(): string {
  const { randomBytes } = realSystem(new Digester(null));
  return makeId('export', wallClockMs(), randomBytes(ID_RANDOM_BYTES));
}
