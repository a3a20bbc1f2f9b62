import { PLACE_HEADER } from './app.ts';
import { type Input, sentPieces } from './input.ts';

/** Far longer than an exchange takes. A server that keeps the connection open for longer waits for bytes that never come. */
const DEADLINE_MS = 10_000;

/** The bytes that a server sent on a connection. */
export interface Received {
  readonly text: string;
  /** The server has closed the connection. */
  readonly isClosed: boolean;
}

/** Sends an input piece by piece, and reads until the server closes. */
export async function exchange(port: number, input: Input): Promise<Received> {
  const ended = Promise.withResolvers<boolean>();
  const chunks: Buffer[] = [];
  let isOpen = true;
  const end = (): void => {
    isOpen = false;
    ended.resolve(true);
  };
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    allowHalfOpen: true,
    socket: { data: (_socket, bytes) => void chunks.push(bytes), end, close: end, error: end },
  });
  socket.setNoDelay(true);
  const deadline = setTimeout(() => ended.resolve(false), DEADLINE_MS);
  for (const [i, piece] of sentPieces(input).entries()) {
    // The server runs in this process, so it reads each piece before the next one is sent.
    if (i > 0) await turn();
    if (!isOpen) break;
    socket.write(Buffer.from(piece, 'latin1'));
  }
  if (input.isHalfClosed && isOpen) socket.shutdown();
  const isClosed = await ended.promise;
  clearTimeout(deadline);
  socket.terminate();
  return { text: Buffer.concat(chunks).toString('latin1'), isClosed };
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export interface Answer {
  readonly status: number;
  /** The number of the request that it answers. Null: the server itself refuses. */
  readonly place: number | null;
}

/** Parses the answers. Null: the text is not a sequence of complete answers. */
export function readAnswers(text: string): Answer[] | null {
  const answers: Answer[] = [];
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('\r\n\r\n', at);
    const head = text.slice(at, end + 2);
    const status = Number(/^HTTP\/1\.1 (\d{3})[ \r]/.exec(head)?.[1]);
    if (end < 0 || Number.isNaN(status)) return null;
    at = end + 4;
    // An interim answer: the client may send the body.
    if (status < 200) continue;
    const place = fieldOf(head, PLACE_HEADER);
    const length = Number(fieldOf(head, 'content-length') ?? 0);
    answers.push({ status, place: place === null ? null : Number(place) });
    // The answer to a HEAD request has no body, so the next answer follows directly.
    const isEmpty = text.startsWith('HTTP/1.1 ', at) || at === text.length;
    at += isEmpty ? 0 : length;
    if (at > text.length) return null;
  }
  return answers;
}

function fieldOf(head: string, name: string): string | null {
  return new RegExp(`\\r\\n${name}: *([^\\r]*)\\r\\n`, 'i').exec(head)?.[1] ?? null;
}
