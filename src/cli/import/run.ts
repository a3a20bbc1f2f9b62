import type { Progress } from './progress.ts';
import type { FailureReport } from './report.ts';
import type { Row } from './rows.ts';
import type { KeySender, Outcome } from './send.ts';
import type { Counts, Mark, StateFile } from './state.ts';

/** Keys of one request at the most, and bytes of the file that they stand for. */
const BATCH_KEYS = 100;
const BATCH_BYTES = 1024 * 1024;
/** Requests that are under way at one time. */
const IN_FLIGHT = 4;

export interface ImportParts {
  readonly sender: KeySender;
  readonly report: FailureReport;
  readonly progress: Progress;
  /** null: nothing is kept to go on from. */
  readonly state: StateFile | null;
  readonly from: Mark;
}

interface Sent {
  readonly rows: readonly Row[];
  readonly outcomes: Promise<Outcome[]>;
}

/**
 * Sends all rows, a few batches at a time. They are settled in the order of the file: what is before the mark in the state file has
 * met its end, and of what is behind it what was stored already is recognised when it is sent again.
 */
export async function importRows(rows: AsyncGenerator<Row>, parts: ImportParts): Promise<Counts> {
  const underWay: Sent[] = [];
  let mark = parts.from;
  try {
    for await (const batch of batchesOf(rows)) {
      const first = underWay.length < IN_FLIGHT ? undefined : underWay.shift();
      if (first !== undefined) mark = await settle(first, mark, parts);
      underWay.push(send(batch, parts.sender));
    }
    for (const sent of underWay) mark = await settle(sent, mark, parts);
  } finally {
    await Promise.allSettled(underWay.map(({ outcomes }) => outcomes));
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
  // It is waited for in its turn; until then a failure of it is nobody's surprise.
  outcomes.catch(() => undefined);
  return { rows, outcomes };
}

async function settle({ rows, outcomes }: Sent, before: Mark, parts: ImportParts): Promise<Mark> {
  const found = await outcomes;
  const counts = { imported: before.imported, present: before.present, failed: before.failed };
  let place = 0;
  for (const row of rows) {
    const outcome = row.key === null ? { failed: row.problem } : (found[place++] ?? 'imported');
    if (typeof outcome === 'string') counts[outcome]++;
    else {
      counts.failed++;
      parts.report.add(row.line, withoutKey(outcome.failed, row.key));
    }
  }
  const offset = rows.at(-1)?.endOffset ?? before.offset;
  const mark: Mark = { ...counts, offset, reportBytes: parts.report.bytes };
  parts.state?.save(mark);
  parts.progress.show(counts, offset);
  return mark;
}

/** A key that stands in the wrong field may be told in a refusal; the report shall not hold it. */
function withoutKey(reason: string, key: Row['key']): string {
  const plaintext = key?.['plaintext'];
  return typeof plaintext === 'string' && plaintext !== '' ? reason.replaceAll(plaintext, '(the key)') : reason;
}
