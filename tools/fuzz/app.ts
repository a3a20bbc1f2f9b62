import { MAX_VERIFY_BODY_BYTES } from '../../src/core/bounds.ts';
import { AppError, ERRORS } from '../../src/core/errors.ts';
import type { ResponderContext } from '../../src/http/front/responder.ts';
import { maxBodyBytesOf } from '../../src/http/routes/routeTable.ts';
import type { HeaderLookup } from '../../src/http/service.ts';
import { VERIFY_PATH } from './oddities.ts';

/** Headers that define where a request ends, who sends it, or what it asks for. */
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
  /** Null: the end of the body never arrived. */
  body: string | null;
}

/** A header of each answer with the number of the request on this connection that it belongs to. */
export const PLACE_HEADER = 'x-place';

/** The application behind a server under test. It records the requests. Handles one connection at a time. */
export class RecordingApp {
  seen: Seen[] = [];
  readonly #isSlow: boolean;

  /** With `isSlow`, some answers are delayed. */
  constructor(isSlow: boolean) {
    this.#isSlow = isSlow;
  }

  readonly handle = async (request: Request): Promise<Response> => {
    const target = targetOf(request.url);
    // As in the routes, this check comes before the body is read.
    if (Number(request.headers.get('content-length')) > maxBodyBytesOf(target)) return refusal(413);
    const seen = note(request.method, target, request.headers);
    const place = this.seen.push(seen) - 1;
    try {
      seen.body = await request.text();
    } catch {
      // The client has disconnected before the end of the body. No one reads this answer.
      return refusal(400);
    }
    if (this.#isSlow && target === '/slow') await new Promise((resolve) => setImmediate(resolve));
    return new Response(request.method === 'HEAD' ? null : 'ok', { headers: { [PLACE_HEADER]: String(place) } });
  };

  readonly verification: Pick<ResponderContext, 'fast' | 'answerFailure'> = {
    fast: {
      path: VERIFY_PATH,
      maxBodyBytes: MAX_VERIFY_BODY_BYTES,
      decide: ({ headers }, body) => {
        const seen = { ...note('POST', VERIFY_PATH, headers), body };
        // The place travels in a field that is not looked at here.
        const decided = { code: String(this.seen.push(seen) - 1) };
        const isLate = this.#isSlow && body.length % 2 === 1;
        return isLate ? new Promise((resolve) => setImmediate(() => resolve(decided))) : decided;
      },
      text: () => '{}',
      bytes: () => 2,
      headerLines: ({ code }) => `${PLACE_HEADER}: ${code}\r\n`,
    },
    answerFailure: (failure) => refusal(failure instanceof AppError ? ERRORS[failure.code].status : 500),
  };
}

function refusal(status: number): Response {
  return new Response('refused', { status, headers: { connection: 'close' } });
}

/** Path and query. When the Host header is not a valid address, the runtime gives only these, or puts an invalid host before them. */
function targetOf(url: string): string {
  const target = url.replace(/^https?:\/\/[^/?#]*/, '');
  const { pathname, search } = new URL(`http://none${target}`);
  return pathname + search;
}

function note(method: string, target: string, headers: HeaderLookup): Seen {
  const recorded = HEADERS.flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return { method, target, headers: Object.fromEntries(recorded), body: null };
}
