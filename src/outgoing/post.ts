import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

import { parseAddress } from '../core/address.ts';
import { MAX_TARGET_ANSWER_BYTES } from '../core/bounds.ts';
import type { Target } from './target.ts';

export interface Posting {
  readonly target: Target;
  /** One of the addresses of the target. */
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
  /** Certificates that are trusted; undefined = those of the machine. */
  readonly ca: string | undefined;
}

/**
 * Sends one request to the address of the target and answers the status. It follows no redirect, uses no proxy and reads no body: a
 * client library does some of this in ways that would go around the check of the address.
 */
export function post({ target, address, headers, body, signal, ca }: Posting): Promise<number> {
  return new Promise<number>((resolve, reject) => {
    if (signal.aborted) return reject(reasonOf(signal));
    const socket = open(target, address, ca);
    const readStatus = statusReader();
    const end = (settle: () => void): void => {
      signal.removeEventListener('abort', stop);
      socket.destroy();
      settle();
    };
    const stop = (): void => end(() => reject(reasonOf(signal)));
    signal.addEventListener('abort', stop);
    socket.on('error', (error: Error) => end(() => reject(error)));
    socket.on('close', () => end(() => reject(new Error('the connection was closed without an answer'))));
    socket.on(target.isTls ? 'secureConnect' : 'connect', () => socket.write(requestText(target, headers, body)));
    socket.on('data', (bytes: Buffer) => {
      const status = readStatus(bytes);
      if (status === 'no HTTP') end(() => reject(new Error('the answer is no HTTP')));
      else if (status !== null) end(() => resolve(status));
    });
  });
}

/** The certificate must be for the name, although the connection goes to an address. */
function open({ port, isTls, name }: Target, address: string, ca: string | undefined): Socket {
  if (!isTls) return connectPlain({ host: address, port });
  const isAddress = parseAddress(name) !== null;
  return connectTls({
    host: address,
    port,
    ALPNProtocols: ['http/1.1'],
    ...(isAddress ? {} : { servername: name }),
    ...(ca === undefined ? {} : { ca }),
  });
}

function requestText({ path, host }: Target, headers: Posting['headers'], body: string): string {
  const lines = Object.entries({
    host,
    ...headers,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}

/**
 * Tells the status of the answer, once its first line is there. Answers of the kind 1xx come before the answer itself. Each is cut off when
 * it is whole, and the bound counts all of them: a target that sends them without end is cut off too.
 */
function statusReader(): (bytes: Buffer) => number | null | 'no HTTP' {
  let room = MAX_TARGET_ANSWER_BYTES;
  let received = '';
  return (bytes) => {
    received += bytes.toString('latin1', 0, Math.max(0, room));
    room -= bytes.length;
    for (let lineEnd = received.indexOf('\r\n'); lineEnd !== -1; lineEnd = received.indexOf('\r\n')) {
      const status = /^HTTP\/1\.[01] ([1-9]\d\d)(?: |$)/.exec(received.slice(0, lineEnd))?.[1];
      if (status === undefined) return 'no HTTP';
      if (Number(status) >= 200) return Number(status);
      const headEnd = received.indexOf('\r\n\r\n');
      if (headEnd === -1) break;
      received = received.slice(headEnd + 4);
    }
    return room < 0 ? 'no HTTP' : null;
  };
}

function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('stopped');
}
