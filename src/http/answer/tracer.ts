import { ERRORS } from '../../core/errors.ts';
import { expected } from '../../engine/engine.ts';

/** A piece of work that is being traced. */
export interface CallSpan {
  end(outcome: SpanOutcome): void;
}

/** What came of it. */
interface SpanOutcome {
  readonly status?: number;
  readonly verdict?: string;
  /** The code of an error; null = there was none. */
  readonly error: string | null;
}

/** The headers of W3C Trace Context that a caller sent. */
export interface TraceHeaders {
  get(name: string): string | null;
}

export interface ManagementCall {
  readonly method: string;
  readonly path: string;
  readonly requestId: string;
}

/** Records what the service does, for whoever traces it. Nothing that a caller sent is recorded but its trace. */
export interface Tracer {
  /** A management call; null = its caller does not record its trace. */
  call(call: ManagementCall, headers: TraceHeaders): CallSpan | null;
  /** A verification; null = it is not in the sample. */
  verification(headers: TraceHeaders): CallSpan | null;
}

/** Ends the span with what came of the work. */
export async function traced<T>(
  span: CallSpan,
  work: () => Promise<T>,
  describe: (result: T) => Partial<SpanOutcome>,
): Promise<T> {
  try {
    const result = await work();
    span.end({ error: null, ...describe(result) });
    return result;
  } catch (failure) {
    const error = expected(failure)?.code ?? 'INTERNAL_SERVER_ERROR';
    span.end({ status: ERRORS[error].status, error });
    throw failure;
  }
}
