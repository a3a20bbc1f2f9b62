import type { CopyKeys } from '../../storage/sql/copySignature.ts';
import { DATA_FORMAT, type DataHeader } from '../../storage/sql/move/dataFormat.ts';
import type { DataSource } from '../../storage/sql/move/dataPorts.ts';
import { DATA_TABLES, TABLE_NAMES } from '../../storage/sql/move/dataTables.ts';
import { VERSION } from '../../version.ts';
import type { DataProgress } from './dataProgress.ts';
import { DataWriter, type Sink } from './dataWriter.ts';

export interface WriteOptions {
  readonly exportId: string;
  readonly takenAtMs: number;
  readonly progress: DataProgress;
  readonly copyKeys: CopyKeys;
  readonly isMove: boolean;
  /** Called when everything but the trailer is written. */
  readonly beforeTrailer: () => Promise<void>;
}

/** What an export has in it. */
export interface WrittenExport {
  readonly format: number;
  readonly bytes: number;
  readonly total: number;
  readonly rows: Readonly<Record<string, number>>;
  readonly installation: string;
}

/** Writes everything that the source has. */
export async function writeExport(source: DataSource, sink: Sink, options: WriteOptions): Promise<WrittenExport> {
  const { progress } = options;
  const writer = new DataWriter(sink, headerOf(source, options), options.copyKeys);
  for (const table of DATA_TABLES) {
    for await (const rows of source.read(table)) {
      await writer.write(table, rows);
      progress.show({ rows: writer.total, table: table.name, bytes: writer.bytes });
    }
  }
  await writer.end(options.beforeTrailer);
  const { bytes, total, rows } = writer;
  return { format: DATA_FORMAT, bytes, total, rows, installation: source.installation };
}

function headerOf(
  { engine, schema, installation }: DataSource,
  { exportId, takenAtMs, isMove }: WriteOptions,
): DataHeader {
  return {
    version: VERSION,
    schema,
    installation,
    exportId,
    takenAtMs,
    engine,
    isMove,
    tables: TABLE_NAMES,
  };
}
