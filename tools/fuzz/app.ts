import { AppError, ERRORS } from '../../src/core/errors.ts';
import { UNKNOWN_KEY } from '../../src/engine/verify/verdict.ts';
import type { ResponderContext } from '../../src/http/front/responder.ts';
import { maxBodyBytesOf } from '../../src/http/request/bodyBounds.ts';
import type { HeaderLookup } from '../../src/http/service.ts';
import { VERIFY_PATH } from './oddities.ts';

/** Headers that say where a request ends, who asks, or what is asked. */
const HEADERS = [
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'expect',
  'content-type',
  'x-forwarded-for',
  'x-a',
];

/** A request as the application behind a server sees it. */
export interface Seen {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Null: its end never came. */
  body: string | null;
}

/** Says in each answer which of the requests of this connection it belongs to. */
export const PLACE_HEADER = 'x-place';

/** Behind both servers: notes what it is asked. One connection at a time. */
export class RecordingApp {
  seen: Seen[] = [];
  readonly #isSlow: boolean;

  /** Slow: some answers are not there at once. */
  constructor(isSlow: boolean) {
    this.#isSlow = isSlow;
  }

  readonly handle = async (request: Request): Promise<Response> => {
    const target = targetOf(request.url);
    // As the routes do: before anything of the body is read.
    if (Number(request.headers.get('content-length')) > maxBodyBytesOf(target)) return refusal(413);
    const seen = note(request.method, target, request.headers);
    const place = this.seen.push(seen) - 1;
    try {
      seen.body = await request.text();
    } catch {
      // The client has gone before its end: nobody reads this answer.
      return refusal(400);
    }
    if (this.#isSlow && target === '/slow') await new Promise((resolve) => setImmediate(resolve));
    return new Response(request.method === 'HEAD' ? null : 'ok', { headers: { [PLACE_HEADER]: String(place) } });
  };

  readonly verification: Pick<ResponderContext, 'verify' | 'verdicts' | 'answerFailure'> = {
    verify: ({ headers }, body) => {
      const seen = { ...note('POST', VERIFY_PATH, headers), body };
      const place = this.seen.push(seen) - 1;
      // The place travels in a field that is not looked at here.
      const verdict = { ...UNKNOWN_KEY, atMs: place };
      const isLate = this.#isSlow && body.length % 2 === 1;
      return isLate ? new Promise((resolve) => setImmediate(() => resolve(verdict))) : verdict;
    },
    verdicts: {
      text: () => '{}',
      bytes: () => 2,
      headerLines: ({ atMs }) => `${PLACE_HEADER}: ${atMs}\r\n`,
    },
    answerFailure: (failure) => refusal(failure instanceof AppError ? ERRORS[failure.code].status : 500),
  };
}

function refusal(status: number): Response {
  return new Response('refused', { status, headers: { connection: 'close' } });
}

/** Path and query. The runtime gives them alone, or after a host that is none, where the Host header makes no address. */
function targetOf(url: string): string {
  const target = url.replace(/^https?:\/\/[^/?#]*/, '');
  const { pathname, search } = new URL(`http://none${target}`);
  return pathname + search;
}

function note(method: string, target: string, headers: HeaderLookup): Seen {
  const told = HEADERS.flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return { method, target, headers: Object.fromEntries(told), body: null };
}
