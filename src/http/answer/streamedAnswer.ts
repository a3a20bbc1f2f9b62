import type { AnswerContext } from './answer.ts';

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
 * An answer with a body of any length. The first piece is made before it answers: what fails until then is answered as an error. Later the
 * status is sent already, so a failure ends the body without its end, which clients see. `onFailure` hears of it.
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
