import type { Progress } from './progress.ts';
import type { FailureReport } from './report.ts';
import type { Row } from './rows.ts';
import type { KeySender, Outcome } from './send.ts';
import type { Counts, Mark, StateFile } from './state.ts';

/** The largest number of keys in one request, and of file bytes that they come from. */
const BATCH_KEYS = 100;
const BATCH_BYTES = 1024 * 1024;
/** The number of requests in flight at one time. */
const MAX_IN_FLIGHT = 4;

export interface ImportContext {
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
