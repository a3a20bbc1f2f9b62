import { type Params, placeholders, type Statement } from '../query/statement.ts';

/** Rows of one statement. An engine prepares a statement once for each of these sizes, however many rows there are. */
const SIZES = [100, 10, 1] as const;

/** Inserts rows of numbers and texts into one table, many with one statement. */
export class RowInsert {
  readonly #columns: number;
  readonly #sqlOf: (size: number) => string;
  /** Made at the first use: a thread that never folds starts without them. */
  readonly #sqlOfSize = new Map<number, string>();

  /** `onConflict` says what happens to a row that exists; one call must not have two rows with the same key. */
  constructor(table: string, columns: readonly string[], onConflict = '') {
    this.#columns = columns.length;
    this.#sqlOf = (size) => {
      const rows = Array.from({ length: size }, (_, i) => {
        return `(${placeholders(columns.length, i * columns.length + 1)})`;
      });
      return `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${rows.join(', ')} ${onConflict}`;
    };
  }

  /** `values` are those of all rows, row after row. */
  *statements(values: Params): Generator<Statement> {
    const end = values.length / this.#columns;
    let next = 0;
    for (const size of SIZES) {
      if (next + size > end) continue;
      const sql = this.#sqlOfSize.get(size) ?? this.#sqlOf(size);
      this.#sqlOfSize.set(size, sql);
      for (; next + size <= end; next += size) {
        yield { sql, params: values.slice(next * this.#columns, (next + size) * this.#columns) };
      }
    }
  }
}
