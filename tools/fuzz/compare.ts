import { STRICTER, WIDER, type Allowance } from './allowances.ts';
import type { Seen } from './app.ts';
import { type Answer, exchange, readAnswers } from './exchange.ts';
import { type Input, sentPieces } from './input.ts';
import type { Target } from './targets.ts';

/** What the server itself may answer to a request that it does not pass on. */
const REFUSALS = [400, 413, 414, 417, 431, 501, 505];

/** Kinds are told apart so that an input that is made smaller still shows what it was found for. */
export interface Difference {
  readonly kind: 'waits' | 'answers' | 'accepts' | 'frames' | 'refuses';
  readonly text: string;
}

/** Of one input: a difference, or the allowance that permits one, or neither. */
export interface Outcome {
  readonly difference: Difference | null;
  readonly allowance: string | null;
  /** Requests that both servers have passed on. */
  readonly passedOn: number;
}

interface Result {
  /** Whole requests that were passed on to the application. */
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

/** Sends the input to both. The front must not pass on what the runtime refuses or ends elsewhere. */
export async function compare(front: Target, runtime: Target, input: Input): Promise<Outcome> {
  const expected = await ask(runtime, { ...input, isHalfClosed: true });
  const isHalfClosed = input.isHalfClosed || isWaiting(expected);
  const got = await ask(front, { ...input, isHalfClosed });
  return judge(got, expected, sentPieces(input).join(''));
}

/** The input ends within a request: only the end of the connection ends the waiting. */
function isWaiting({ seen, answers }: Result): boolean {
  const isRefused = answers?.at(-1)?.place === null;
  const last = seen.at(-1);
  return !isRefused && last?.headers['connection'] !== 'close';
}

function judge(got: Result, expected: Result, sent: string): Outcome {
  const same = sameSoFar(got.seen, expected.seen);
  const [extra, missing] = [got.seen[same], expected.seen[same]];
  const meant = (allowances: readonly Allowance[], request: Seen): Allowance | undefined =>
    allowances.find(({ isMeant }) => isMeant(request, sent, expected.seen[same - 1]));
  const allowed = (by?: Allowance): Outcome => ({ difference: null, allowance: by?.name ?? null, passedOn: same });
  const found = (kind: Difference['kind'], text: string): Outcome => {
    return { difference: { kind, text: `request ${same}: ${text}` }, allowance: null, passedOn: same };
  };
  if (!got.isClosed) return found('waits', 'the front waits, the connection stays open');
  const broken = brokenAnswers(got);
  if (broken !== null) return found('answers', broken);
  const forbidden = got.seen.find((seen) => STRICTER.some(({ isDuty, isMeant }) => isDuty && isMeant(seen, sent)));
  if (forbidden !== undefined) return found('accepts', `the front passes on ${shown(forbidden)}, which it must refuse`);
  if (extra !== undefined && missing !== undefined) {
    return found('frames', `the front passes on ${shown(extra)}, the runtime ${shown(missing)}`);
  }
  if (extra !== undefined) {
    const wider = meant(WIDER, extra);
    if (wider !== undefined) return allowed(wider);
    return found('accepts', `the front passes on ${shown(extra)}, the runtime does not`);
  }
  if (missing === undefined) return allowed();
  const last = got.answers?.at(-1);
  const isRefused = last?.place === null;
  const stricter = meant(isRefused ? STRICTER : STRICTER.filter(({ mayWait }) => mayWait), missing);
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

/** Each request that is passed on is answered once, in its order; then at most one refusal, and the end. */
function brokenAnswers({ seen, answers }: Result): string | null {
  if (answers === null) return 'what the front sends is no sequence of answers';
  const places = answers.map(({ place }) => place);
  const isRefused = places.at(-1) === null;
  const answered = isRefused ? places.slice(0, -1) : places;
  const expected = seen.map((_, i) => i);
  if (!Bun.deepEquals(answered, expected)) {
    return `the front passes on ${seen.length} requests, and answers those at the places ${JSON.stringify(places)}`;
  }
  const status = answers.at(-1)?.status ?? 0;
  return isRefused && !REFUSALS.includes(status) ? `the front refuses with ${status}` : null;
}

function shown(seen: Seen): string {
  return JSON.stringify(seen);
}
