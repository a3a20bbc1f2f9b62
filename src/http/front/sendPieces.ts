/** What takes the pieces of a body: a connection to a client. */
export interface PieceTaker {
  isGone(): boolean;
  send(bytes: Uint8Array): void;
  /** Resolves when the client has taken what was sent, or is gone. */
  taken(): Promise<void>;
}

const LAST_CHUNK = Buffer.from('0\r\n\r\n');
const LINE_END = Buffer.from('\r\n');

/**
 * Sends a body piece by piece. The next piece is made when the client has taken the one before, so a slow client costs the memory of one.
 * A client that leaves ends the making. False: it is gone.
 */
export async function sendPieces(
  body: ReadableStream<Uint8Array>,
  isChunked: boolean,
  taker: PieceTaker,
): Promise<boolean> {
  const reader = body.getReader();
  for (;;) {
    await taker.taken();
    if (taker.isGone()) {
      await reader.cancel();
      return false;
    }
    const { done, value } = await reader.read();
    if (done) break;
    // An empty chunk would be the last one (RFC 9112, 7.1).
    if (value.length > 0) taker.send(isChunked ? asChunk(value) : value);
  }
  if (isChunked) taker.send(LAST_CHUNK);
  return true;
}

function asChunk(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, LINE_END]);
}
