import type { CopyKeys } from '../../storage/sql/copySignature.ts';
import { DATA_FORMAT, type DataHeader } from '../../storage/sql/move/dataFormat.ts';
import type { DataSource } from '../../storage/sql/move/dataPorts.ts';
import { DATA_TABLES, type DataTable } from '../../storage/sql/move/dataTables.ts';
import { VERSION } from '../../version.ts';
import type { DataProgress } from './dataProgress.ts';
import { DataWriter, type Sink } from './dataWriter.ts';

export interface WriteOptions {
  readonly exportId: string;
  readonly takenAtMs: number;
  readonly progress: DataProgress;
  readonly copyKeys: CopyKeys;
  /** Of a move: stops spends. Called when everything that only management changes is written. */
  readonly holdAccounts: (() => Promise<void>) | null;
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
  const { holdAccounts, progress } = options;
  const ahead = DATA_TABLES.filter(({ isAhead }) => isAhead);
  const late = DATA_TABLES.filter(({ isAhead }) => !isAhead);
  const growing = holdAccounts === null ? [] : DATA_TABLES.filter(({ isGrowing }) => isGrowing);
  const writer = new DataWriter(sink, headerOf(source, options, [...ahead, ...late, ...growing]), options.copyKeys);
  const lastOf = new Map<DataTable, number>();
  const copy = async (table: DataTable, after?: number): Promise<void> => {
    for await (const rows of source.read(table, after)) {
      await writer.write(table, rows);
      if (table.isGrowing) lastOf.set(table, Number(rows.at(-1)?.[table.key[0] ?? ''] ?? 0));
      progress.show({ rows: writer.total, table: table.name, bytes: writer.bytes });
    }
  };
  for (const table of ahead) await copy(table);
  if (holdAccounts !== null) {
    await holdAccounts();
    await source.renew();
  }
  for (const table of late) await copy(table);
  for (const table of growing) await copy(table, lastOf.get(table) ?? 0);
  await writer.end(options.beforeTrailer);
  const { bytes, total, rows } = writer;
  return { format: DATA_FORMAT, bytes, total, rows, installation: source.installation };
}

function headerOf(
  { engine, schema, installation }: DataSource,
  { exportId, takenAtMs, holdAccounts }: WriteOptions,
  tables: readonly DataTable[],
): DataHeader {
  return {
    version: VERSION,
    schema,
    installation,
    exportId,
    takenAtMs,
    engine,
    isMove: holdAccounts !== null,
    tables: tables.map(({ name }) => name),
  };
}
