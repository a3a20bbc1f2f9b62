import { connect } from 'node:net';

export interface Heard {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** One connection on which bytes are sent as they are; answers what came back until the server closed it. */
export async function exchange(port: number, ...pieces: readonly (string | Uint8Array)[]): Promise<Heard> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let received = '';
  const socket = connect(port, '127.0.0.1', () => {
    for (const piece of pieces) socket.write(piece);
  });
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => (received += text));
  socket.on('close', () => resolve(received));
  socket.on('error', (error: Error & { code?: string }) => {
    // A server that refuses a body may reset the connection after its answer.
    if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error);
  });
  return parse(await promise);
}

function parse(text: string): Heard {
  const [head = '', body = ''] = text.split('\r\n\r\n');
  const [start = '', ...lines] = head.split('\r\n');
  const headers = lines.map((line) => [
    line.slice(0, line.indexOf(':')).toLowerCase(),
    line.slice(line.indexOf(':') + 2),
  ]);
  return { status: Number(start.split(' ')[1]), headers: Object.fromEntries(headers) as Heard['headers'], body };
}
