import { lookup } from 'node:dns/promises';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

import { parseAddress } from '../core/address.ts';
import { MAX_TARGET_ANSWER_BYTES } from '../core/bounds.ts';
import type { Outgoing, OutgoingRequest, SendOutcome } from '../engine/admin/webhookPorts.ts';
import { signatures } from './signature.ts';
import { RefusedTarget, resolveTarget, type Target, type TargetRules } from './target.ts';

interface OutgoingOptions extends TargetRules {
  /** The limit for the whole request, from the lookup of the name to the answer. */
  readonly timeoutMs: number;
  /** For tests: makes the signal of the time limit. */
  readonly timeout?: (milliseconds: number) => AbortSignal;
  readonly version: string;
  /** Certificates that are trusted instead of those of the machine. */
  readonly ca?: string;
}

/** Sends signed events over HTTP. */
export class HttpOutgoing implements Outgoing {
  readonly #options: OutgoingOptions;

  constructor(options: OutgoingOptions) {
    this.#options = options;
  }

  async refusal(url: string): Promise<string | null> {
    try {
      await resolveTarget(url, this.#options);
      return null;
    } catch (error) {
      if (error instanceof RefusedTarget) return error.message;
      throw error;
    }
  }

  /** The name is looked up and checked again at each try: its addresses can change after the webhook was created. */
  async send(request: OutgoingRequest, signal: AbortSignal): Promise<SendOutcome> {
    const { timeoutMs, timeout = (milliseconds) => AbortSignal.timeout(milliseconds) } = this.#options;
    const ends = AbortSignal.any([signal, timeout(timeoutMs)]);
    try {
      const target = await unlessAborted(resolveTarget(request.url, this.#options), ends);
      return { status: await this.#post(target, request, ends) };
    } catch (error) {
      if (error instanceof RefusedTarget) return { failure: `The url ${error.message}.` };
      if (ends.aborted && !signal.aborted) return { failure: `There was no answer within ${timeoutMs} ms.` };
      return { failure: `The request failed (${failureOf(error)}).` };
    }
  }

  /**
   * Tries the addresses in turn: this machine may not reach some of them, such as those of IPv6. An address that refuses the connection has
   * received nothing.
   */
  async #post(target: Target, request: OutgoingRequest, signal: AbortSignal): Promise<number> {
    const posting = { target, headers: this.#headers(request), body: request.body, signal, ca: this.#options.ca };
    const addresses = target.addresses.slice(0, MAX_ADDRESSES);
    for (const [i, address] of addresses.entries()) {
      try {
        return await post({ ...posting, address });
      } catch (error) {
        if (!isUnreached(error) || i === addresses.length - 1) throw error;
      }
    }
    throw new Error('the target has no address');
  }

  #headers({ id, timestampMs, body, secrets }: OutgoingRequest): Record<string, string> {
    const seconds = Math.floor(timestampMs / 1000);
    return {
      'content-type': 'application/json',
      'user-agent': `Keystile/${this.#options.version}`,
      'webhook-id': id,
      'webhook-timestamp': String(seconds),
      'webhook-signature': signatures({ id, seconds, body }, secrets),
    };
  }
}

/** A lookup cannot be stopped, but the caller stops waiting for it. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = (): void => reject(new Error('stopped'));
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

/** How many addresses of a target are tried. */
const MAX_ADDRESSES = 4;
const UNREACHED = ['ECONNREFUSED', 'ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT'];

function isUnreached(error: unknown): boolean {
  return UNREACHED.includes((error as { code?: string }).code ?? '');
}

const MAX_FAILURE_LENGTH = 200;

function failureOf(error: unknown): string {
  const { code = '', message = '' } = error as { code?: string; message?: string };
  return (code || message.split('\n')[0] || 'unknown').slice(0, MAX_FAILURE_LENGTH);
}

interface Posting {
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
 * Sends one request to the address of the target and resolves with the status. It follows no redirect, uses no proxy and reads no body: a
 * client library does some of this in ways that would bypass the check of the address.
 */
function post({ target, address, headers, body, signal, ca }: Posting): Promise<number> {
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
      if (status === 'not HTTP') end(() => reject(new Error('the answer is not HTTP')));
      else if (status !== null) end(() => resolve(status));
    });
  });
}

/** The connection goes to an address, but the certificate must be valid for the name. */
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
 * Returns the status of the answer once its first line has arrived. Answers with a status 1xx come before the answer itself: each is
 * skipped when it is complete. The bound counts all of them, so a target that sends them without end is cut off too.
 */
function statusReader(): (bytes: Buffer) => number | null | 'not HTTP' {
  let room = MAX_TARGET_ANSWER_BYTES;
  let received = '';
  return (bytes) => {
    received += bytes.toString('latin1', 0, Math.max(0, room));
    room -= bytes.length;
    for (let lineEnd = received.indexOf('\r\n'); lineEnd !== -1; lineEnd = received.indexOf('\r\n')) {
      const status = /^HTTP\/1\.[01] ([1-9]\d\d)(?: |$)/.exec(received.slice(0, lineEnd))?.[1];
      if (status === undefined) return 'not HTTP';
      if (Number(status) >= 200) return Number(status);
      const headEnd = received.indexOf('\r\n\r\n');
      if (headEnd === -1) break;
      received = received.slice(headEnd + 4);
    }
    return room < 0 ? 'not HTTP' : null;
  };
}

function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('stopped');
}

/** All addresses of a name, as the machine resolves it. */
export async function resolveName(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}
