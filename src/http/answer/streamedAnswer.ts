import { csvLine } from '../../basics/csv.ts';
import { STATEMENT_COLUMNS } from '../../core/statementRows.ts';
import type { HolderRow } from '../../engine/admin/statements.ts';
import type { AnswerContext } from './answer.ts';
import { toRowObject } from '../shapes/counters/statementObject.ts';

/** A body that is made while it is sent. */
export interface StreamedBody {
  readonly type: string;
  /** Pieces of text. The next one is made when the one before was taken. */
  readonly pieces: AsyncIterable<string>;
}

const streamed = new WeakSet<Response>();

/** Whether the body has to be sent piece by piece. Any other body is read as a whole. */
export function isStreamed(response: Response): boolean {
  return streamed.has(response);
}

/**
 * An answer with a body of any length. The first piece is made before the answer begins, so a failure until then is answered as an error.
 * After a later failure the body breaks off, which clients notice, because the status is already sent. `onFailure` is told.
 */
export async function streamedAnswer(
  { type, pieces }: StreamedBody,
  context: AnswerContext,
  onFailure: (failure: unknown) => void,
): Promise<Response> {
  const iterator = pieces[Symbol.asyncIterator]();
  let next: IteratorResult<string, unknown> | null = await iterator.next();
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const piece = next ?? (await iterator.next());
          next = null;
          if (piece.done === true) controller.close();
          else controller.enqueue(encoder.encode(piece.value));
        } catch (failure) {
          onFailure(failure);
          controller.error(failure);
        }
      },
      async cancel() {
        await iterator.return?.();
      },
    },
    { highWaterMark: 0 },
  );
  const headers = { 'content-type': type, 'keystile-request-id': context.requestId };
  const response = new Response(body, { headers });
  streamed.add(response);
  return response;
}

export const STATEMENT_FORMATS = ['json', 'csv', 'ndjson'] as const;
type StatementFormat = (typeof STATEMENT_FORMATS)[number];

export const STATEMENT_TYPES: Readonly<Record<StatementFormat, string>> = {
  json: 'application/json',
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson',
};

/** Rows in one piece of text, which waits in memory until the client takes it. */
const ROWS_PER_PIECE = 200;

/** The format that the Accept header names first, among those there are. */
export function acceptedFormat(accept: string | null): StatementFormat {
  const types = (accept ?? '').split(',').map((part) => part.split(';')[0]?.trim().toLowerCase());
  const wanted = types.find((type) => type === '*/*' || formatOf(type) !== undefined);
  return formatOf(wanted) ?? 'json';
}

function formatOf(type: string | undefined): StatementFormat | undefined {
  return STATEMENT_FORMATS.find((format) => STATEMENT_TYPES[format].split(';')[0] === type);
}

type StreamedFormat = Exclude<StatementFormat, 'json'>;

/** Rows as text, in pieces. */
export async function* statementText(
  format: StreamedFormat,
  parts: AsyncIterable<readonly HolderRow[]>,
): AsyncGenerator<string> {
  // It comes with the first rows, so that a failure before them is still answered as an error.
  let heading = statementHeading(format);
  for await (const rows of parts) {
    for (let i = 0; i < rows.length; i += ROWS_PER_PIECE) {
      const piece = rows.slice(i, i + ROWS_PER_PIECE);
      yield heading + piece.map((row) => rowText(format, toRowObject(row))).join('');
      heading = '';
    }
  }
  if (heading !== '') yield heading;
}

export function statementHeading(format: StreamedFormat): string {
  return format === 'csv' ? csvLine(STATEMENT_COLUMNS) : '';
}

export function rowText(format: StreamedFormat, row: Readonly<Record<string, string | number>>): string {
  return format === 'csv' ? csvLine(STATEMENT_COLUMNS.map((name) => row[name] ?? '')) : `${JSON.stringify(row)}\n`;
}
