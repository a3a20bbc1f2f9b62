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
import { writeExport, type WrittenExport } from './writeExport.ts';

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
  const exportId = newExportId();
  const progress = new DataProgress(io, null);
  const holding: { hold: SourceHold | null; isFinished: boolean } = { hold: null, isFinished: false };
  const write = async (sink: Sink): Promise<Exported> => {
    holding.hold = call.moves ? await holdForMove(call.config, exportId) : null;
    const takenAtMs = wallClockMs();
    const source = await openSource(call.config);
    try {
      const { hold } = holding;
      const holdAccounts = hold === null ? null : () => hold.accounts();
      const written = await writeExport(source, sink, { exportId, takenAtMs, progress, holdAccounts });
      return { ...written, exportId, takenAtMs, encryptionKeyFile: keyFile(call.config, written) };
    } finally {
      await source.close();
    }
  };
  try {
    if (call.file === null) return await write(standardOutput(io));
    const beforeName = async (): Promise<void> => {
      await holding.hold?.finish();
      holding.isFinished = call.moves;
    };
    return await exportToFile({ file: call.file, replaces: call.replaces, beforeName }, write);
  } catch (error) {
    if (holding.isFinished)
      io.err('The service is held, and there is no file. Let it go on with keystile data release.\n');
    throw error;
  } finally {
    progress.end();
    await holding.hold?.close();
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
