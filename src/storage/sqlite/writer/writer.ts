import type { Database, Statement } from 'bun:sqlite';

import type { CreditWrites } from '../../port/credits.ts';
import type { RecordWrite } from '../../port/writes.ts';
import type { Params, Statement as SqlStatement, WriteStatement } from '../../sql/query/statement.ts';
import { ADD_LINE, creditStatements, lineValues } from '../../sql/creditWrites.ts';
import { writeStatements } from '../../sql/writes.ts';
import { openDurably } from '../file/openDatabase.ts';
import type {
  Commit,
  CommitRows,
  EntryRow,
  EventRow,
  RememberedAnswers,
  Rotation,
  WindowWrite,
  WriterOptions,
} from './commit.ts';
import { type LocalCountColumns, LocalCountRows } from './localCountRows.ts';
import { toWriteFailure, WriteFailure } from '../file/writeFailure.ts';
import { ACCOUNT_LENGTH, toLog } from '../loggedBytes.ts';
import { foldCounts, unpackSlices } from './foldCounts.ts';

const PUT_ACCOUNT = `INSERT INTO accounts (id, kind, value, mark, due_at_ms, revision, base, segment_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, value = excluded.value, mark = excluded.mark, due_at_ms = excluded.due_at_ms,
    revision = excluded.revision, base = excluded.base, segment_ms = excluded.segment_ms`;

type Bound = (Params[number] | Uint8Array)[];

/** Writes a database file, in its own thread, so that a slow flush delays no verification. Only DirectLog also writes. */
export class Writer {
  readonly #db: Database;
  readonly #statements = new Map<string, Statement<unknown, Bound>>();
  readonly #addedFlushMs: number;
  /** Parts of the rows of the next commit. */
  readonly #parts: string[] = [];
  readonly #connection = {
    statement: (sql: string) => this.#statement(sql),
    transaction: (work: () => void) => this.#transaction(work),
  };
  readonly #localCounts = new LocalCountRows(this.#connection);

  constructor(options: WriterOptions) {
    this.#db = openDurably(options.path);
    // Sorting stays in memory. It is bounded, and must not depend on a folder for temporary files.
    this.#db.run('PRAGMA temp_store = MEMORY');
    this.#addedFlushMs = options.addedFlushMs;
  }

  takeRows(rows: string): void {
    this.#parts.push(rows);
  }

  commit({ number, accounts, rows }: Commit): void {
    const parts = [...this.#parts.splice(0), ...(rows === null ? [] : [rows])];
    this.#transaction(() => {
      for (const part of parts) this.#writeRows(JSON.parse(part) as CommitRows);
      this.#run('INSERT INTO ledger_log (number, entries) VALUES (?, ?)', [number, toLog(accounts)]);
    });
  }

  #writeRows({ writes = [], remembered = null, entries = [], events = [], credits = null }: CommitRows): void {
    for (const write of writes) this.#write(write);
    if (remembered !== null) this.#remember(remembered);
    for (const entry of entries) this.#noteEntry(entry);
    for (const event of events) this.#noteEvent(event);
    if (credits !== null) this.#writeCredits(credits);
  }

  write(statements: readonly (SqlStatement & Partial<WriteStatement>)[]): number[] {
    let changes: number[] = [];
    this.#transaction(() => {
      changes = statements.map((statement) => this.#runExpected(statement));
    });
    return changes;
  }

  /** Turns the oldest slices into rows of the log, one for each subject and minute. True: no slice is left. */
  unpackCounts(): boolean {
    return unpackSlices(this.#connection);
  }

  foldCounts(): boolean {
    return foldCounts(this.#connection);
  }

  /** Applies a slice of the log to the accounts table: ACCOUNT_LENGTH numbers for each. */
  applyAccounts(numbers: Float64Array): void {
    this.#transaction(() => {
      const remove = this.#statement('DELETE FROM accounts WHERE id = ?');
      const put = this.#statement(PUT_ACCOUNT);
      for (let i = 0; i < numbers.length; i += ACCOUNT_LENGTH) {
        const logged = numbers.subarray(i, i + ACCOUNT_LENGTH);
        if (logged[1] === -1) remove.run(logged[0] ?? 0);
        else put.run(...logged);
      }
    });
  }

  /** Removes log rows up to `number`, which were all applied; at most `rows` of them. True when none is left. */
  trimLog(number: number, rows: number): boolean {
    let removed = 0;
    this.#transaction(() => {
      removed = this.#run(
        'DELETE FROM ledger_log WHERE number IN (SELECT number FROM ledger_log WHERE number <= ? ORDER BY number LIMIT ?)',
        [number, rows],
      );
      this.#put('applied_to', String(number));
    });
    return removed < rows;
  }

  saveLocalCounts(counts: LocalCountColumns, isLast: boolean): void {
    this.#localCounts.save(counts, isLast);
  }

  pruneLocalCounts(endedAtMs: number): void {
    this.#localCounts.prune(endedAtMs);
  }

  /** Reserves a block of account numbers for good, before the first of them is used. */
  reserve(count: number): number {
    let first = 0;
    this.#transaction(() => {
      first = Number(this.#get('next_account') ?? '1');
      this.#put('next_account', String(first + count));
    });
    return first;
  }

  /** For tests: the largest size of the file, in pages. To SQLite this looks like a full disk. */
  setMaxPages(pages: number | null): void {
    this.#db.run(`PRAGMA max_page_count = ${pages ?? 4294967294}`);
  }

  close(): void {
    // SQLite checkpoints when the last connection closes, but not while statements are open.
    this.#db.run('PRAGMA wal_checkpoint(TRUNCATE)');
    this.letGo();
  }

  /** Closes without writing anything more, not even the rest of a failed write. */
  letGo(): void {
    for (const statement of this.#statements.values()) statement.finalize();
    this.#db.close();
  }

  #write(write: RecordWrite | WindowWrite): void {
    if (write.kind === 'insertWindow') {
      const { owner, name, durationMs } = write.window;
      this.#run('INSERT INTO adhoc_windows (owner, name, duration_ms, account) VALUES (?, ?, ?, ?)', [
        owner,
        name,
        durationMs,
        write.account,
      ]);
    } else if (write.kind === 'removeWindow') {
      this.#run('DELETE FROM adhoc_windows WHERE account = ?', [write.account]);
    } else {
      for (const statement of writeStatements(write)) this.#runExpected(statement);
    }
  }

  #runExpected({ sql, params, expects = null }: SqlStatement & Partial<WriteStatement>): number {
    const changes = this.#run(sql, params);
    if (expects !== null && changes !== expects) throw new WriteFailure('refused', 'the record has another revision');
    return changes;
  }

  #remember({ rotation, answers }: RememberedAnswers): void {
    this.#rotate(rotation);
    const table = `idempotency_${rotation.running.partition}`;
    for (const { scope, id, requestDigest, outcome } of answers) {
      this.#run(`INSERT INTO ${table} (scope, id, request_digest, outcome) VALUES (?, ?, ?, ?)`, [
        scope,
        id,
        requestDigest,
        outcome,
      ]);
    }
  }

  #noteEntry({ atMs, actor, action, target, before, after, origin, requestId, via }: EntryRow): void {
    this.#run(
      `INSERT INTO audit_entries (at_ms, actor, action, target, before_json, after_json, origin, request_id, via)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [atMs, actor, action, target, before, after, origin, requestId, via],
    );
  }

  #noteEvent({ id, type, atMs, data }: EventRow): void {
    this.#run('INSERT INTO events (id, type, at_ms, data) VALUES (?, ?, ?, ?)', [id, type, atMs, data]);
  }

  #writeCredits(credits: CreditWrites): void {
    for (const line of credits.lines) this.#run(ADD_LINE, lineValues(line));
    for (const statement of creditStatements(credits)) this.#runExpected(statement);
  }

  #rotate({ running, empties, isDue }: Rotation): void {
    if (!isDue) return;
    if (empties) this.#db.run(`DELETE FROM idempotency_${running.partition}`);
    this.#put('idempotency_partition', JSON.stringify(running));
  }

  #transaction(work: () => void): void {
    try {
      this.#db.run('BEGIN IMMEDIATE');
      work();
      this.#db.run('COMMIT');
    } catch (error) {
      // After a failed COMMIT, SQLite may have rolled back already. A failed rollback adds nothing to the first error.
      if (this.#db.inTransaction) this.#db.run('ROLLBACK');
      throw toWriteFailure(error);
    }
    if (this.#addedFlushMs > 0) Bun.sleepSync(this.#addedFlushMs);
  }

  #run(sql: string, params: Bound): number {
    return this.#statement(sql).run(...params).changes;
  }

  #get(name: string): string | undefined {
    const row = this.#statement('SELECT value FROM installation WHERE name = ?').get(name) as { value: string } | null;
    return row?.value;
  }

  #put(name: string, value: string): void {
    this.#run(
      'INSERT INTO installation (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
      [name, value],
    );
  }

  #statement(sql: string): Statement<unknown, Bound> {
    let statement = this.#statements.get(sql);
    if (statement === undefined) this.#statements.set(sql, (statement = this.#db.prepare<unknown, Bound>(sql)));
    return statement;
  }
}
