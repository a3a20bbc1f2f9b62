import { statSync } from 'node:fs';

import { ALWAYS_FRESH } from '../port/freshness.ts';
import type { AuditEntries } from '../port/auditEntries.ts';
import type { Events, Tell, Told, Webhooks } from '../port/events.ts';
import type { Reservations, Statements } from '../port/credits.ts';
import type { Imports } from '../port/imports.ts';
import { type LocalCounts, type Storage } from '../port/storage.ts';
import type { Records } from '../port/records.ts';
import type { DamageFound } from '../port/storage.ts';
import { SqlAuditEntries } from '../sql/auditEntries.ts';
import { SqlEvents, SqlTold } from '../sql/events.ts';
import { SqlReservations } from '../sql/reservations.ts';
import { SqlStatements } from '../sql/statements.ts';
import { SqlWebhooks } from '../sql/webhooks.ts';
import { SqlImports } from '../sql/imports.ts';
import { SqlRecords } from '../sql/records.ts';
import { SqlAnalytics } from '../sql/analytics/analytics.ts';
import type { Analytics } from '../port/analytics.ts';
import { openAnalytics, readsAnalytics, SqliteCountWriter } from './analytics.ts';
import { attachAnalytics } from './file/openDatabase.ts';
import { CommitNumberFile, missingRefusal, refuseLostCommits } from './ledger/commitQueue.ts';
import { SqliteLocalCounts } from './localCounts.ts';
import { DirectLog } from './writer/commit.ts';
import { Damage, DAMAGE_PAGE } from './file/damage.ts';
import { ReadConnection, SqliteReader, SqliteWriter } from './thread/databaseThreads.ts';
import { isDamage, toWriteFailure } from './file/writeFailure.ts';
import {
  claimFolder,
  readRestoredNote,
  readWorkspaceId,
  refuseCopy,
  refuseMoved,
  type RestoredNote,
} from './file/installation.ts';
import { type DataFolder, FolderError } from './file/dataFolder.ts';
import { SqliteLedger, type LedgerObserver } from './ledger/ledger.ts';
import { LazyThread, SqliteThread } from './thread/threadClient.ts';
import { isBeforeFirstRelease, readSchemaVersion, SCHEMA_VERSION, upgrade } from './file/migrate.ts';
import { configure } from './file/openDatabase.ts';

interface SqliteOptions {
  readonly folder: DataFolder;
  readonly nowMs: () => number;
  /** Used once, for the installation's own id. */
  readonly newWorkspaceId: () => string;
  /** Used once for a new data folder, and for a copy that was accepted. */
  readonly newFolderId: () => string;
  readonly maxWaiting: number;
  readonly idempotencyRetentionMs: number;
  readonly acceptLostCommits: boolean;
  readonly addedFlushMs: number;
  /** Called once when the disk or the file has failed. After that, no answer may say `valid`. */
  readonly onBroken: (error: Error) => void;
  /** Called once for each file with a damaged page. The service continues with the other pages. */
  readonly onDamage: (path: string, reason: string) => void;
  readonly observe: LedgerObserver;
  /** Reports what a migration does. */
  readonly tell?: Tell;
}

export class SqliteStorage implements Storage {
  readonly records: Records;
  readonly analytics: Analytics;
  readonly imports: Imports;
  readonly auditEntries: AuditEntries;
  readonly events: Events;
  readonly webhooks: Webhooks;
  readonly reservations: Reservations;
  readonly statements: Statements;
  readonly told: Told;
  readonly ledger: SqliteLedger;
  readonly localCounts: LocalCounts;
  readonly freshness = ALWAYS_FRESH;
  readonly workspaceId: string;
  readonly folderId: string;
  readonly warnings: readonly string[] = [];
  /** With a full disk, everything in memory is still answered. */
  readonly outage = null;
  /** The note that the database came from a backup; null = it did not. */
  readonly restored: RestoredNote | null;
  readonly files: { readonly path: string; readonly analyticsPath: string };
  readonly damaged: Damage;
  readonly #db: ReadConnection;
  readonly #writer: SqliteThread;
  readonly #direct: DirectLog;
  readonly #commitNumber: CommitNumberFile;
  readonly #reader: LazyThread;
  readonly #countsThread: LazyThread;

  private constructor(
    { db, folderId }: OpenedDatabase,
    writer: SqliteThread,
    direct: DirectLog,
    { damage, ...options }: SqliteOptions & { readonly damage: Damage },
  ) {
    this.#db = db;
    this.damaged = damage;
    this.#writer = writer;
    this.#direct = direct;
    const { databasePath: path, analyticsPath } = options.folder;
    this.files = { path, analyticsPath };
    this.#reader = new LazyThread({ role: 'reader', ...this.files });
    this.#countsThread = new LazyThread(
      { role: 'counts', path: analyticsPath, addedFlushMs: options.addedFlushMs },
      (failure) => damage.note(analyticsPath, failure),
    );
    const reader = new SqliteReader(db, () => this.#reader.get(), damage);
    this.records = new SqlRecords({
      reader,
      lookups: reader,
      lookUp: (digests) => reader.findKeys(digests),
      version: async () => this.ledger.recordChanges,
    });
    this.imports = new SqlImports(reader);
    const sqlWriter = new SqliteWriter(writer);
    this.auditEntries = new SqlAuditEntries(sqlWriter);
    this.events = new SqlEvents(reader, sqlWriter);
    this.webhooks = new SqlWebhooks(reader, sqlWriter);
    this.reservations = new SqlReservations(reader, sqlWriter);
    this.statements = new SqlStatements(reader, sqlWriter);
    this.told = new SqlTold(reader, sqlWriter, () => this.ledger.applyLog());
    this.analytics = new SqlAnalytics(reader, new SqliteCountWriter(db, this.#countsThread));
    const localCounts = new SqliteLocalCounts(db, this.#countsThread);
    this.localCounts = localCounts;
    this.ledger = new SqliteLedger(db, writer, this.#direct, {
      ...options,
      pruneLocalCounts: (endedAtMs) => localCounts.prune(endedAtMs),
      observe: {
        applyFailed: (reason) => options.observe.applyFailed(reason),
        noteFailed: (reason) => options.observe.noteFailed(reason),
        refused: (reason) => options.observe.refused(reason),
        committed: (size, milliseconds) => {
          this.#commitNumber.note();
          options.observe.committed(size, milliseconds);
        },
      },
    });
    if (!options.acceptLostCommits) refuseLostCommits(options.folder.path, this.ledger.number);
    this.#commitNumber = new CommitNumberFile({
      folder: options.folder.path,
      folderId,
      number: () => this.ledger.number,
      writer,
      failed: (reason) => options.observe.noteFailed(reason),
    });
    this.folderId = folderId;
    this.workspaceId = readWorkspaceId(db) ?? '';
    this.restored = readRestoredNote(db);
  }

  static async open(options: SqliteOptions): Promise<SqliteStorage> {
    const opened = openDatabase(options);
    const { databasePath: path, analyticsPath } = options.folder;
    const damage = new Damage({ databasePath: path, analyticsPath, readsAnalytics, tell: options.onDamage });
    let writer: SqliteThread | null = null;
    let direct: DirectLog | null = null;
    try {
      const { addedFlushMs, onBroken } = options;
      writer = await SqliteThread.start({ role: 'writer', path, addedFlushMs }, (failure) => {
        damage.note(path, failure);
        onBroken(failure);
      });
      direct = new DirectLog({ path, addedFlushMs });
      const storage = new SqliteStorage(opened, writer, direct, { ...options, damage });
      opened.db.watch(damage);
      return storage;
    } catch (error) {
      direct?.close();
      await writer?.close();
      opened.db.close();
      throw isDamage(error) ? notOpened(path, error) : error;
    }
  }

  get damage(): DamageFound | null {
    return this.damaged.found;
  }

  /** Size of the longer write-ahead log. It grows while another program has a read transaction open. */
  get walBytes(): number {
    const sizes = Object.values(this.files).map(
      (path) => statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0,
    );
    return Math.max(...sizes);
  }

  /** For tests: makes the disk full at a number of pages, or gives it space again (null). */
  async setMaxPages(pages: number | null): Promise<void> {
    this.#direct.setMaxPages(pages);
    await this.#writer.call('setMaxPages', pages);
    await (await this.#countsThread.get()).call('setMaxPages', pages);
  }

  async close(): Promise<void> {
    await this.ledger.close();
    await this.#commitNumber.close();
    await this.#reader.close();
    this.#db.close();
    this.#direct.close();
    await this.#countsThread.close();
    await this.#writer.close();
  }
}

interface OpenedDatabase {
  readonly db: ReadConnection;
  readonly folderId: string;
}

function openDatabase(options: SqliteOptions): OpenedDatabase {
  const { folder, acceptLostCommits, nowMs, tell = () => {} } = options;
  const path = folder.databasePath;
  // Checked before a new file is created: a refused start leaves nothing behind.
  const missing = folder.isNew && !acceptLostCommits ? missingRefusal(folder.path) : null;
  if (missing !== null) throw new FolderError(missing);
  let db: ReadConnection | null = null;
  try {
    db = new ReadConnection(path, { create: true, readwrite: true });
    if (isBeforeFirstRelease(db)) {
      throw new FolderError(
        `The database in ${folder.path} was written by a program before 0.1.0, and this program cannot read it. Nothing was changed. ` +
          'Move the folder away, or set KEYSTILE_DATA to another one, and create or import the keys again.',
      );
    }
    const version = readSchemaVersion(db);
    if (version > SCHEMA_VERSION) {
      throw new FolderError(
        `The database in ${folder.path} has schema version ${version}, and this program knows up to ${SCHEMA_VERSION}. ` +
          'Start it with the newer program that wrote it.',
      );
    }
    if (version > 0) refuseMoved(db, folder.path);
    if (version > 0 && !acceptLostCommits) refuseCopy(db, folder.path);
    configure(db);
    upgrade(db, { path, nowMs, tell, prepareAnalytics: () => openAnalytics(folder.analyticsPath, { nowMs, tell }) });
    attachAnalytics(db, folder.analyticsPath);
    if (readWorkspaceId(db) === null) {
      db.query("INSERT INTO installation (name, value) VALUES ('workspace_id', ?)").run(options.newWorkspaceId());
    }
    const folderId = claimFolder(db, { folder: folder.path, newId: options.newFolderId });
    // This process is the only one, so the sender of these deliveries has ended. They need not wait for the end of their lease.
    db.run('UPDATE deliveries SET lease = NULL, due_at_ms = 0 WHERE state = 0 AND lease IS NOT NULL');
    // After this, only the writer thread and the direct log write.
    db.run('PRAGMA query_only = ON');
    // Sorting its few rows must not need a file.
    db.run('PRAGMA temp_store = MEMORY');
    return { db, folderId };
  } catch (error) {
    db?.close();
    throw error instanceof FolderError ? error : notOpened(path, error);
  }
}

function notOpened(path: string, error: unknown): FolderError {
  const { kind, message } = toWriteFailure(error);
  const advice = kind === 'damaged' ? ` It is damaged; ${DAMAGE_PAGE} says what to do.` : '';
  return new FolderError(`The database ${path} cannot be opened (${message}).${advice}`, kind === 'full');
}
