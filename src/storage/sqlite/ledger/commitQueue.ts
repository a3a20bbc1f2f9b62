import type { Deferred } from '../../port/deferred.ts';
import { FolderError } from '../file/dataFolder.ts';
import { notePath, noteText, readNote } from '../file/installation.ts';
import { endsWriting, toWriteFailure } from '../file/writeFailure.ts';
import type { Batch, Work, WorkOutcome } from './batch.ts';
import type { SqliteThread } from '../thread/threadClient.ts';
import type { Commit, CommitRows, DirectLog } from '../writer/commit.ts';

/** The most items of one batch. This bounds its time and the size of its log row. */
const MAX_BATCH = 2048;
/** If a turn of the event loop brings this many new items, the queue waits for one more turn. */
const MANY_WAITING = 4;
/** The most turns that the queue waits. */
const MAX_TURNS = 4;

/**
 * Decides which items form the next batch. There is no timer:
 *
 *   idle --item arrives--> collecting --a turn of the event loop brings few more--> running a batch
 *   running --done--> running the next batch, of what arrived meanwhile --nothing has arrived--> idle
 *
 * One batch runs at a time. A heavy item, such as a change of a thousand records, is a batch by itself, and before each heavy item there is
 * a batch of other items: so these wait for at most one heavy item.
 */
export class BatchQueue<T> {
  readonly #run: (items: readonly T[]) => Promise<void>;
  #waiting: T[] = [];
  readonly #heavy: T[] = [];
  #isRunning = false;
  #idle: Promise<void> = Promise.resolve();

  /** `run` never throws. */
  constructor(run: (items: readonly T[]) => Promise<void>) {
    this.#run = run;
  }

  get length(): number {
    return this.#waiting.length + this.#heavy.length;
  }

  add(item: T, isHeavy = false): void {
    (isHeavy ? this.#heavy : this.#waiting).push(item);
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#idle = new Promise((done) => {
      // Runs after the sockets that are readable in this turn, so that what they bring joins the first batch.
      setImmediate(() => this.#collect(0, MAX_TURNS, done));
    });
  }

  async untilIdle(): Promise<void> {
    while (this.length > 0 || this.#isRunning) await this.#idle;
  }

  /** Items that arrive while a crowd is read join its batch: a flush for 64 costs little more than one for 32. */
  #collect(seen: number, turnsLeft: number, done: () => void): void {
    const waiting = this.#waiting.length;
    if (waiting - seen < MANY_WAITING || turnsLeft === 0) void this.#drain().then(done);
    else setImmediate(() => this.#collect(waiting, turnsLeft - 1, done));
  }

  async #drain(): Promise<void> {
    for (let isHeavyNext = false; this.length > 0; isHeavyNext = !isHeavyNext) {
      const heavy = isHeavyNext || this.#waiting.length === 0 ? this.#heavy.shift() : undefined;
      await this.#run(heavy === undefined ? this.#take() : [heavy]);
      // Requests that need no commit get a turn before the requests that follow the answers.
      if (this.length > 0) await new Promise((go) => setImmediate(go));
    }
    this.#isRunning = false;
  }

  #take(): readonly T[] {
    const items = this.#waiting.length <= MAX_BATCH ? this.#waiting : this.#waiting.slice(0, MAX_BATCH);
    this.#waiting = items === this.#waiting ? [] : this.#waiting.slice(MAX_BATCH);
    return items;
  }
}

/** After these failures, the next batch may succeed. */
export const NOT_DONE = {
  full: 'The disk is full; nothing was spent or changed.',
  busy: 'Another program has locked the database; nothing was spent or changed.',
  unopened: 'A file of the database cannot be opened now (too many are open); nothing was spent or changed.',
} as const;

/** An item in the queue of the ledger. */
export interface Item {
  readonly work: Work;
  readonly answer: Deferred<WorkOutcome>;
}

/** The outcome of a spend or reservation that the database refuses; null for other work. */
export function failedAlone(work: Work, reason: string): WorkOutcome {
  if ('spend' in work) return { status: 'failed', reason };
  return 'reserve' in work ? { spend: { status: 'failed', reason }, reservation: null } : null;
}

export function failAll(items: readonly Item[], error: Error): void {
  for (const item of items) item.answer.fail(error);
}

export function answerAll(items: readonly Item[], outcomes: readonly (WorkOutcome | Error)[]): void {
  for (let i = 0; i < items.length; i++) {
    const outcome = outcomes[i] ?? null;
    if (outcome instanceof Error) items[i]?.answer.fail(outcome);
    else items[i]?.answer.know(outcome);
  }
}

/** While the mean time of a flush is at most this, the answering thread flushes. */
const QUICK_MS = 0.5;
/** The weight of one flush in the moving mean. */
const WEIGHT = 0.05;
/** The mean before the first flush: quick enough to try. */
const FIRST_MEAN_MS = 0.25;
/** After a flush of this length, in either thread, the next commits go through the writer thread: this many for each millisecond. */
const STALL_MS = 10;
const AWAY_FOR_EACH_MS = 100;
const MAX_AWAY = 100_000;
/** After this many commits in the answering thread, one goes through the writer thread, which checkpoints SQLite's log if it has grown. */
const MAX_IN_A_ROW = 256;

/** The part of the writer thread that is used here. */
type CommitThread = Pick<SqliteThread, 'call' | 'isIdle' | 'breakDown'>;

/**
 * Decides which thread commits a batch. The writer thread delays nobody. But waking it, and being woken again, costs as much as a quick
 * flush, and on a busy machine it waits for a processor: with a flush of 0.1 ms, the answering thread alone takes a third more credits a
 * second (measured). So the answering thread commits batches that only spend, while the disk is quick and the writer thread is idle. If the
 * disk is slow or stalls now and then, the writer thread commits.
 */
export class CommitPath {
  readonly #writer: CommitThread;
  readonly #direct: Pick<DirectLog, 'append'>;
  #meanMs = FIRST_MEAN_MS;
  #inARow = 0;
  /** Commits that still go through the writer thread after a stall. */
  #away = 0;

  constructor(writer: CommitThread, direct: Pick<DirectLog, 'append'>) {
    this.#writer = writer;
    this.#direct = direct;
  }

  /** Fails with a WriteFailure. */
  async commit(batch: Batch, number: number): Promise<void> {
    const commit = batch.toCommit(number, batch.isPlain ? undefined : await this.#sendRows(batch));
    if (batch.isPlain && this.#mayCommitHere && this.#commitHere(commit)) return;
    this.#inARow = 0;
    const tookMs = await this.#writer.call('commit', commit);
    // A batch with records to write takes longer than its flush.
    if (batch.isPlain) this.#learn(tookMs);
  }

  /**
   * Sends all parts of its rows except the last. Other requests are served between two parts: nothing is decided while a commit is under
   * way.
   */
  async #sendRows({ rowParts }: Batch): Promise<CommitRows | undefined> {
    for (const part of rowParts.slice(0, -1)) {
      // If it fails, the commit fails too.
      this.#writer.call('takeRows', JSON.stringify(part)).catch(() => {});
      await new Promise((go) => setImmediate(go));
    }
    return rowParts.at(-1);
  }

  get #mayCommitHere(): boolean {
    return this.#away === 0 && this.#meanMs <= QUICK_MS && this.#inARow < MAX_IN_A_ROW && this.#writer.isIdle;
  }

  /** False: another program has locked the database. The writer thread can wait for it. */
  #commitHere({ number, accounts }: Commit): boolean {
    try {
      this.#learn(this.#direct.append(number, accounts));
    } catch (error) {
      const failure = toWriteFailure(error);
      if (failure.kind === 'busy') return false;
      if (endsWriting(failure.kind)) this.#writer.breakDown(failure);
      throw failure;
    }
    this.#inARow++;
    return true;
  }

  #learn(milliseconds: number): void {
    this.#meanMs += (milliseconds - this.#meanMs) * WEIGHT;
    if (this.#away > 0) this.#away--;
    if (milliseconds >= STALL_MS) this.#away = Math.min(MAX_AWAY, Math.round(milliseconds * AWAY_FOR_EACH_MS));
  }
}

const WRITE_EVERY_MS = 1000;

interface CommitNumberOptions {
  readonly folder: string;
  readonly folderId: string;
  /** Number of the last durable commit. */
  readonly number: () => number;
  readonly writer: Pick<SqliteThread, 'call' | 'isBroken'>;
  /** Called when writing begins to fail. Writing is retried every second. */
  readonly failed: (reason: string) => void;
}

/**
 * Writes the number of the last commit beside the database, at most a second late. A database with a lower number has lost commits (an
 * older copy, a deleted WAL): spent credits could be spent again, and revoked keys would work again. It is not served until an operator
 * accepts the loss.
 */
export class CommitNumberFile {
  readonly #options: CommitNumberOptions;
  #written = -1;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isClosed = false;
  #hasFailed = false;

  constructor(options: CommitNumberOptions) {
    this.#options = options;
    void this.#write();
  }

  /** Called after commits. Writes once within a second. */
  note(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      void this.#write();
    }, WRITE_EVERY_MS);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    await this.#write();
  }

  /** Runs in the writer thread after the commits, because it flushes as they do. */
  async #write(): Promise<void> {
    const { folder, folderId, writer } = this.#options;
    const number = this.#options.number();
    if (number === this.#written) return;
    try {
      await writer.call('noteCommit', notePath(folder), noteText({ number, id: folderId }));
      this.#written = number;
      this.#hasFailed = false;
    } catch (error) {
      // A full disk or too many open files do no harm: an older number on disk detects less, but refuses nothing wrongly.
      if (this.#isClosed || writer.isBroken) return;
      if (!this.#hasFailed) this.#options.failed(error instanceof Error ? error.message : String(error));
      this.#hasFailed = true;
      this.note();
    }
  }
}

/** Why a start refuses a folder without a database; null = it begins a new installation in it. */
export function missingRefusal(folder: string): string | null {
  const noted = readNote(folder)?.number ?? 0;
  if (noted === 0) return null;
  return (
    `The data folder ${folder} has no keystile.db, but commit number ${noted} was already confirmed to a client. ` +
    'Put the file back (is its disk mounted?), restore a backup, or lose everything and begin a new installation once with KEYSTILE_ACCEPT_LOST_COMMITS=true.'
  );
}

export function refuseLostCommits(folder: string, number: number): void {
  const noted = readNote(folder)?.number ?? 0;
  if (number >= noted) return;
  throw new FolderError(
    `The database in ${folder} has lost commits: its last commit is number ${number}, but commit number ${noted} was already confirmed to a client. ` +
      'It is an older copy, or its -wal file was removed. Credits that were spent could be spent again. ' +
      'Put the newer files back, or accept the loss once with KEYSTILE_ACCEPT_LOST_COMMITS=true.',
  );
}
