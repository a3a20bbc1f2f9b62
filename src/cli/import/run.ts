import { closeSync, existsSync, openSync, rmSync, truncateSync, writeSync } from 'node:fs';

import type { Ask } from '../ask.ts';
import { CliError, failed } from '../cliError.ts';
import type { Counts, Mark, Progress, StateFile } from './state.ts';
import type { Row } from './rows.ts';

/** The largest number of keys in one request, and of file bytes that they come from. */
const BATCH_KEYS = 100;
const BATCH_BYTES = 1024 * 1024;
/** The number of requests in flight at one time. */
const MAX_IN_FLIGHT = 4;

interface ImportContext {
  readonly sender: KeySender;
  readonly report: FailureReport;
  readonly progress: Progress;
  /** Null: progress is not saved. */
  readonly state: StateFile | null;
  readonly from: Mark;
}

interface Sent {
  readonly rows: readonly Row[];
  readonly outcomes: Promise<Outcome[]>;
}

/**
 * Sends all rows, a few batches at a time. Batches are completed in the order of the file: all rows before the mark in the
 * state file are done. After an interruption, rows after the mark are sent again, and the service recognises those that it
 * has already stored.
 */
export async function importRows(rows: AsyncGenerator<Row>, context: ImportContext): Promise<Counts> {
  const inFlight: Sent[] = [];
  let mark = context.from;
  try {
    for await (const batch of batchesOf(rows)) {
      const first = inFlight.length < MAX_IN_FLIGHT ? undefined : inFlight.shift();
      if (first !== undefined) mark = await complete(first, mark, context);
      inFlight.push(send(batch, context.sender));
    }
    for (const sent of inFlight) mark = await complete(sent, mark, context);
  } finally {
    await Promise.allSettled(inFlight.map(({ outcomes }) => outcomes));
  }
  return mark;
}

async function* batchesOf(rows: AsyncGenerator<Row>): AsyncGenerator<Row[]> {
  let batch: Row[] = [];
  let startsAt: number | null = null;
  for await (const row of rows) {
    batch.push(row);
    startsAt ??= row.endOffset;
    if (batch.length < BATCH_KEYS && row.endOffset - startsAt < BATCH_BYTES) continue;
    yield batch;
    batch = [];
    startsAt = null;
  }
  if (batch.length > 0) yield batch;
}

function send(rows: readonly Row[], sender: KeySender): Sent {
  const outcomes = sender.send(rows.flatMap(({ key }) => (key === null ? [] : [key])));
  // `complete` awaits the outcomes later and reports a failure. Until then it must not count as an unhandled rejection.
  outcomes.catch(() => undefined);
  return { rows, outcomes };
}

async function complete({ rows, outcomes }: Sent, before: Mark, context: ImportContext): Promise<Mark> {
  const found = await outcomes;
  const counts = { imported: before.imported, present: before.present, failed: before.failed };
  let sent = 0;
  for (const row of rows) {
    const outcome = row.key === null ? { failed: row.problem } : (found[sent++] ?? 'imported');
    if (typeof outcome === 'string') counts[outcome]++;
    else {
      counts.failed++;
      context.report.add(row.line, withoutKey(outcome.failed, row.key));
    }
  }
  const offset = rows.at(-1)?.endOffset ?? before.offset;
  const mark: Mark = { ...counts, offset, reportBytes: context.report.bytes };
  context.state?.save(mark);
  context.progress.show(counts, offset);
  return mark;
}

/** An error can quote a key that is in the wrong field. The report must not contain it. */
function withoutKey(reason: string, key: Row['key']): string {
  const plaintext = key?.['plaintext'];
  return typeof plaintext === 'string' && plaintext !== '' ? reason.replaceAll(plaintext, '(the key)') : reason;
}

/** The result of importing a key. */
type Outcome = 'imported' | 'present' | { readonly failed: string };

type Key = Readonly<Record<string, unknown>>;

/** The problems that the service named, by the index of the key in the request. */
type KeyProblems = ReadonlyMap<number, string>;

/** Temporary errors. The batch is sent again, and the service recognises keys that it has already stored. */
const TEMPORARY = new Set<string | undefined>([undefined, 'UNAVAILABLE', 'OUTCOME_UNKNOWN', 'RATE_LIMITED']);
/** Errors that are about a key, when they name it or when the request has only one. */
const ABOUT_KEYS = new Set<string | undefined>([
  'BAD_REQUEST',
  'CONFLICT',
  'PAYLOAD_TOO_LARGE',
  'INTERNAL_SERVER_ERROR',
]);
const MAX_TRIES = 6;
const FIRST_PAUSE_MS = 250;

/** Imports every key that can be imported. Any other refusal (of the root key, of the api of --api, a quota) ends the import. */
export class KeySender {
  readonly #ask: Ask;
  /** The api of keys that do not name one. Null: each key names its api. */
  readonly #apiId: string | null;
  readonly #pause: (milliseconds: number) => Promise<void>;

  constructor(
    ask: Ask,
    apiId: string | null,
    pause: (milliseconds: number) => Promise<void> = (milliseconds) => Bun.sleep(milliseconds),
  ) {
    this.#ask = ask;
    this.#apiId = apiId;
    this.#pause = pause;
  }

  /** The results, in the order of the keys. */
  async send(keys: readonly Key[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = keys.map(() => 'imported');
    let waiting = keys.map((_, i) => i);
    while (waiting.length > 0) {
      const refusal = await this.#importOrRefusal(waiting.map((i) => keys[i] as Key));
      if (refusal === null) break;
      const problems = problemsOf(refusal);
      this.#stopWithoutApi(refusal, (index) => keys[waiting[index] ?? 0]);
      if (problems.size === 0) {
        const singly = await this.#sendSingly(
          waiting.map((i) => keys[i] as Key),
          refusal,
        );
        for (const [index, i] of waiting.entries()) outcomes[i] = singly[index] ?? 'imported';
        break;
      }
      for (const [index, message] of problems) outcomes[waiting[index] ?? 0] = toOutcome(refusal, message);
      waiting = waiting.filter((_, index) => !problems.has(index));
    }
    return outcomes;
  }

  /** Ends the import when the api of --api does not exist: every row would fail with the same message. */
  #stopWithoutApi({ exitCode, details }: CliError, keyAt: (index: number) => Key | undefined): void {
    if (details.code !== 'NOT_FOUND' || this.#apiId === null) return;
    for (const { path, message } of details.issues ?? []) {
      // A path into the key names what else is not there: its owner.
      const index = /^\[(\d+)\]$/.exec(path)?.[1];
      if (index !== undefined && keyAt(Number(index))?.['apiId'] === this.#apiId)
        throw new CliError(exitCode, [message], details);
    }
  }

  /** Sends the keys one by one, after an error that does not name the key that it is about. */
  async #sendSingly(keys: readonly Key[], refusal: CliError): Promise<Outcome[]> {
    if (!ABOUT_KEYS.has(refusal.details.code)) throw refusal;
    if (keys.length === 1) return [toOutcome(refusal, refusal.message)];
    const outcomes: Outcome[] = [];
    for (const key of keys) outcomes.push(...(await this.send([key])));
    return outcomes;
  }

  /** Returns null when all keys are imported. */
  async #importOrRefusal(keys: readonly Key[]): Promise<CliError | null> {
    for (let tries = 1; ; tries++) {
      try {
        await this.#ask('migrations.createKeys', keys);
        return null;
      } catch (error) {
        if (!(error instanceof CliError)) throw error;
        if (!TEMPORARY.has(error.details.code)) return error;
        if (tries === MAX_TRIES) throw error;
        await this.#pause(FIRST_PAUSE_MS * 2 ** (tries - 1));
      }
    }
  }
}

function problemsOf({ details }: CliError): KeyProblems {
  const problems = new Map<number, string>();
  for (const { path, message } of details.issues ?? []) {
    const index = /^\[(\d+)\]/.exec(path)?.[1];
    if (index === undefined) continue;
    const words = message.replace(/^\[\d+\](\.|: )?/, '');
    const before = problems.get(Number(index));
    problems.set(Number(index), before === undefined ? words : `${before}; ${words}`);
  }
  return problems;
}

function toOutcome({ details }: CliError, message: string): Outcome {
  return details.code === 'CONFLICT' ? 'present' : { failed: message };
}

/** The rows that failed, one line of JSON each: the line number and the reason, never the key. */
export class FailureReport {
  readonly path: string;
  #file: number | null = null;
  #bytes: number;

  /** Keeps the first `bytes` of a report that an interrupted import has left. */
  constructor(path: string, bytes: number) {
    this.path = path;
    this.#bytes = bytes > 0 && existsSync(path) ? bytes : 0;
    // Rows reported after the last saved progress are sent and reported again.
    if (this.#bytes === 0) rmSync(path, { force: true });
    else truncateSync(path, bytes);
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(line: number, reason: string): void {
    this.#file ??= this.#open();
    const text = `${JSON.stringify({ line, reason })}\n`;
    this.#bytes += writeSync(this.#file, text, this.#bytes);
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #open(): number {
    try {
      return openSync(this.path, this.#bytes === 0 ? 'w' : 'r+', 0o600);
    } catch (error) {
      const code = (error as { code?: string }).code ?? String(error);
      throw failed(`The report of failed rows cannot be written to ${this.path} (${code}).`);
    }
  }
}
