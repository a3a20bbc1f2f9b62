import { STRICTER, WIDER, type Allowance } from './allowances.ts';
import type { Seen } from './app.ts';
import { type Answer, exchange, readAnswers } from './exchange.ts';
import { type Input, sentPieces } from './input.ts';
import type { Target } from './targets.ts';

/** The statuses with which a server may refuse a request by itself. */
const REFUSALS = [400, 413, 414, 417, 431, 501, 505];

/** The kind is kept when an input is made smaller, so that it still shows the same problem. */
export interface Difference {
  readonly kind: 'waits' | 'answers' | 'accepts' | 'frames' | 'refuses';
  readonly text: string;
}

/** The result of one input: a difference, or the allowance that permits one, or neither. */
export interface Outcome {
  readonly difference: Difference | null;
  readonly allowance: string | null;
  /** The number of requests that both servers have passed on. */
  readonly passedOn: number;
}

interface Result {
  /** Complete requests that were passed on to the application. */
  readonly seen: readonly Seen[];
  readonly answers: readonly Answer[] | null;
  readonly isClosed: boolean;
}

async function ask(target: Target, input: Input): Promise<Result> {
  target.takeSeen();
  const { text, isClosed } = await exchange(target.port, input);
  const seen = target.takeSeen().filter(({ body }) => body !== null);
  return { seen, answers: readAnswers(text), isClosed };
}

/** Sends the input to both servers. The front must not pass on a request that the runtime refuses or ends at another byte. */
export async function compare(front: Target, runtime: Target, input: Input): Promise<Outcome> {
  const expected = await ask(runtime, { ...input, isHalfClosed: true });
  const isHalfClosed = input.isHalfClosed || isWaiting(expected);
  const got = await ask(front, { ...input, isHalfClosed });
  return judge(got, expected, sentPieces(input).join(''));
}

/** Whether the input ends within a request, so that the server waits until the connection ends. */
function isWaiting({ seen, answers }: Result): boolean {
  const isRefused = answers?.at(-1)?.place === null;
  const last = seen.at(-1);
  return !isRefused && last?.headers['connection'] !== 'close';
}

function judge(got: Result, expected: Result, sent: string): Outcome {
  const same = sameSoFar(got.seen, expected.seen);
  const [extra, missing] = [got.seen[same], expected.seen[same]];
  const allowanceFor = (allowances: readonly Allowance[], request: Seen): Allowance | undefined =>
    allowances.find(({ applies }) => applies(request, sent, expected.seen[same - 1]));
  const allowed = (by?: Allowance): Outcome => ({ difference: null, allowance: by?.name ?? null, passedOn: same });
  const found = (kind: Difference['kind'], text: string): Outcome => {
    return { difference: { kind, text: `request ${same}: ${text}` }, allowance: null, passedOn: same };
  };
  if (!got.isClosed) return found('waits', 'the front waits and keeps the connection open');
  const broken = brokenAnswers(got);
  if (broken !== null) return found('answers', broken);
  const forbidden = got.seen.find((seen) =>
    STRICTER.some(({ mustRefuse, applies }) => mustRefuse && applies(seen, sent)),
  );
  if (forbidden !== undefined) return found('accepts', `the front passes on ${shown(forbidden)}, which it must refuse`);
  if (extra !== undefined && missing !== undefined) {
    return found('frames', `the front passes on ${shown(extra)}, the runtime ${shown(missing)}`);
  }
  if (extra !== undefined) {
    const wider = allowanceFor(WIDER, extra);
    if (wider !== undefined) return allowed(wider);
    return found('accepts', `the front passes on ${shown(extra)}, the runtime does not`);
  }
  if (missing === undefined) return allowed();
  const last = got.answers?.at(-1);
  const isRefused = last?.place === null;
  const stricter = allowanceFor(isRefused ? STRICTER : STRICTER.filter(({ mayWait }) => mayWait), missing);
  if (stricter !== undefined) return allowed(stricter);
  return found(
    'refuses',
    `the runtime passes on ${shown(missing)}, the front's last answer is ${last?.status ?? 'none'}`,
  );
}

function sameSoFar(left: readonly Seen[], right: readonly Seen[]): number {
  const differing = left.findIndex((seen, i) => !Bun.deepEquals(seen, right[i]));
  return differing < 0 ? left.length : differing;
}

/** Each request that is passed on must be answered once and in order. After that, at most one refusal may follow. */
function brokenAnswers({ seen, answers }: Result): string | null {
  if (answers === null) return 'the output of the front is not a sequence of answers';
  const places = answers.map(({ place }) => place);
  const isRefused = places.at(-1) === null;
  const answered = isRefused ? places.slice(0, -1) : places;
  const expected = seen.map((_, i) => i);
  if (!Bun.deepEquals(answered, expected)) {
    return `the front passes on ${seen.length} requests, but answers the requests with the numbers ${JSON.stringify(places)}`;
  }
  const status = answers.at(-1)?.status ?? 0;
  return isRefused && !REFUSALS.includes(status) ? `the front refuses with ${status}` : null;
}

function shown(seen: Seen): string {
  return JSON.stringify(seen);
}
