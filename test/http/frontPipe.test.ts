import { afterEach, expect, test } from 'bun:test';

import { AnswerHeads } from '../../src/http/front/answerHead.ts';
import type { FrontParts } from '../../src/http/front/connection.ts';
import { Front } from '../../src/http/front/front.ts';
import { ServerBehind } from '../../src/http/front/pipe.ts';
import { Room } from '../../src/http/front/room.ts';

const MEGABYTES = 30;
const BLOCK = Buffer.from(Array.from({ length: 1 << 20 }, (_, i) => (i * 31 + (i >> 8)) % 251));
const ODD = 'ODD / HTTP/1.1\r\n\r\n';

const room = new Room({ connections: 100, refusals: 0, firstReserved: Infinity });

let ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends) end();
  ends = [];
});

/** A front before a server that speaks whatever `socket` says. */
function frontBefore(socket: Bun.SocketHandler): Front {
  const behind = Bun.listen({ hostname: '127.0.0.1', port: 0, socket });
  const parts: FrontParts = {
    verification: {
      ask: () => {
        throw new Error('not asked');
      },
      fail: () => new Response(),
    },
    handle: async () => new Response(),
    behind: new ServerBehind(behind.port, room),
    heads: new AnswerHeads(() => 0),
    hasCors: false,
  };
  const front = new Front('127.0.0.1', 0, room, parts);
  ends.push(() => {
    front.stopListening();
    front.closeAll();
    behind.stop(true);
  });
  return front;
}

/** Sends a number of blocks, as fast as they are taken, then ends. */
class Sender {
  #left = Buffer.alloc(0);
  #blocks = MEGABYTES;
  readonly #first: string;

  constructor(first = '') {
    this.#first = first;
  }

  go(socket: { write(bytes: Uint8Array): number; end(): void }, isEnd = false): void {
    if (this.#blocks === MEGABYTES && this.#left.length === 0) this.#left = Buffer.from(this.#first);
    for (;;) {
      if (this.#left.length === 0) {
        if (this.#blocks === 0) break;
        this.#blocks--;
        this.#left = BLOCK;
      }
      const written = socket.write(this.#left);
      if (written < 0) return;
      this.#left = this.#left.subarray(written);
      if (this.#left.length > 0) return;
    }
    if (isEnd) socket.end();
  }
}

/** Takes everything, with many short stops. */
class Taker {
  readonly hash = new Bun.CryptoHasher('sha256');
  length = 0;
  #chunks = 0;

  take(socket: { pause(): void; resume(): void }, bytes: Buffer): void {
    this.hash.update(bytes);
    this.length += bytes.length;
    if (++this.#chunks % 10 !== 0) return;
    socket.pause();
    setImmediate(() => socket.resume());
  }
}

function expectedHash(first = ''): string {
  const hash = new Bun.CryptoHasher('sha256');
  hash.update(first);
  for (let i = 0; i < MEGABYTES; i++) hash.update(BLOCK);
  return hash.digest('hex');
}

test('megabytes go through whole, to the server and back, however slowly they are taken', async () => {
  const [uploaded, downloaded] = [new Taker(), new Taker()];
  const total = ODD.length + MEGABYTES * BLOCK.length;
  const answer = new Sender();
  const front = frontBefore({
    data(socket, bytes) {
      uploaded.take(socket, bytes);
      if (uploaded.length === total) answer.go(socket, true);
    },
    drain(socket) {
      if (uploaded.length === total) answer.go(socket, true);
    },
  });
  const ended = Promise.withResolvers<void>();
  const upload = new Sender(ODD);
  await Bun.connect({
    hostname: '127.0.0.1',
    port: front.port,
    socket: {
      open: (socket) => upload.go(socket),
      drain: (socket) => upload.go(socket),
      data: (socket, bytes) => downloaded.take(socket, bytes),
      close: () => ended.resolve(),
    },
  });
  await ended.promise;
  expect([uploaded.length, downloaded.length]).toEqual([total, MEGABYTES * BLOCK.length]);
  expect(uploaded.hash.digest('hex')).toBe(expectedHash(ODD));
  expect(downloaded.hash.digest('hex')).toBe(expectedHash());
});

test.each([
  ['the client', (client: Bun.Socket, _server: Bun.Socket) => client],
  ['the server', (_client: Bun.Socket, server: Bun.Socket) => server],
])('when %s goes, so does the other one', async (_name, which) => {
  const opened = Promise.withResolvers<Bun.Socket>();
  const closed = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const front = frontBefore({
    data: (socket) => opened.resolve(socket as Bun.Socket),
    close: () => closed[0].resolve(),
  });
  const client = await Bun.connect({
    hostname: '127.0.0.1',
    port: front.port,
    socket: { open: (socket) => void socket.write(ODD), data() {}, close: () => closed[1].resolve() },
  });
  which(client, await opened.promise).terminate();
  await Promise.all(closed.map(({ promise }) => promise));
  expect(front.inFlight).toBe(0);
});

test('a client that takes nothing has a limited time to do so', async () => {
  const sent = Promise.withResolvers<void>();
  const behind = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data: (socket) => void socket.write('answer') },
  });
  ends.push(() => behind.stop(true));
  const heard: string[] = [];
  let takes = 0;
  const pipe = new ServerBehind(behind.port, room).join(
    {
      address: null,
      write: (bytes) => Math.min(takes, bytes.length),
      pause() {},
      resume() {},
      hurry(isOn) {
        heard.push(isOn ? 'hurry' : 'no hurry');
        sent.resolve();
      },
      end() {},
      terminate() {},
    },
    Buffer.from(ODD),
  );
  await sent.promise;
  takes = 3;
  pipe.clientTakesMore();
  pipe.clientTakesMore();
  pipe.clientTakesMore();
  expect(heard).toEqual(['hurry', 'hurry', 'no hurry']);
  pipe.clientClosed();
});

test('when nobody is behind, the client is told by a close', async () => {
  const front = frontBefore({ data() {} });
  ends.shift()?.();
  const other = new Front('127.0.0.1', 0, room, {
    verification: { ask: () => Promise.reject(new Error('not asked')), fail: () => new Response() },
    handle: async () => new Response(),
    behind: new ServerBehind(front.port, room),
    heads: new AnswerHeads(() => 0),
    hasCors: false,
  });
  ends.push(() => other.stopListening());
  const closed = Promise.withResolvers<void>();
  await Bun.connect({
    hostname: '127.0.0.1',
    port: other.port,
    socket: { open: (socket) => void socket.write(ODD), data() {}, close: () => closed.resolve() },
  });
  await closed.promise;
  expect(other.inFlight).toBe(0);
});
