import { describe, expect, test } from 'bun:test';

import * as fc from 'fast-check';

import { MemoryBudget, OWN_BYTES } from '../../../src/http/front/frontLimits.ts';
import { TURN_MS } from '../../../src/engine/fairTurns.ts';
import { MAX_TINY_BODY_BYTES, MAX_SMALL_BODY_BYTES } from '../../../src/core/bounds.ts';
import { Connection } from '../../../src/http/front/front.ts';
import { MAX_ARRIVING, MAX_BYTES_PER_PASS } from '../../../src/http/front/requestBody.ts';
import { BUDGET_BYTES, ConnectionSetup, FakeSocket } from './fakeConnection.ts';

const GET = 'GET /any HTTP/1.1\r\nHost: a\r\n\r\n';
const VERIFY = 'POST /v1/keys.verifyKey HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}';

describe('requests that come together', () => {
  test('verifications are answered for the time of a turn, and go on when others had theirs', async () => {
    const setup = new ConnectionSetup(null, 0.5);
    setup.send(VERIFY.repeat(30));
    const inATurn = TURN_MS / 0.5;
    // The first one is alone: it needs no turn.
    expect(setup.asked.length).toBe(1 + inATurn);
    await setup.pass();
    expect(setup.asked.length).toBe(1 + inATurn + inATurn);
    for (let i = 0; i < 2; i++) await setup.pass();
    expect(setup.responses).toEqual(Array.from({ length: 30 }, () => 200));
  });

  test('so are requests of other kinds, whose answers wait for nothing', async () => {
    const setup = new ConnectionSetup((self) => {
      self.nowMs += 1;
      return new Response('x');
    });
    setup.send(GET.repeat(20));
    await setup.settle();
    expect(setup.asked.length).toBe(TURN_MS);
    await setup.pass();
    expect(setup.asked.length).toBe(2 * TURN_MS);
  });

  test('what waits is not read further, and nothing more is taken of it', async () => {
    const setup = new ConnectionSetup();
    setup.send(GET.repeat(1000));
    await setup.settle();
    expect([setup.asked.length, setup.socket.look()]).toEqual([1, ['pause']]);
    expect(setup.memory.left).toBe(BUDGET_BYTES - (1000 * GET.length - OWN_BYTES));
    for (let i = 0; i < 999; i++) {
      setup.waiting[i]?.(new Response('x'));
      await setup.settle();
    }
    expect([setup.asked.length, setup.socket.look()]).toEqual([1000, ['resume']]);
    expect(setup.memory.left).toBe(BUDGET_BYTES);
  });

  test('are dropped when the connection is closed, before their turn or while one is answered', async () => {
    const inTurn = new ConnectionSetup(null, TURN_MS);
    inTurn.send(VERIFY.repeat(1000));
    inTurn.connection.closed();
    await inTurn.pass();
    await inTurn.pass();
    expect(inTurn.asked.length).toBe(2);
    const answering = new ConnectionSetup();
    answering.send(GET.repeat(1000));
    await answering.settle();
    answering.connection.closed();
    answering.socket.writable = 0;
    answering.waiting[0]?.(new Response('x'));
    await answering.pass();
    expect([answering.asked.length, answering.connection.isInFlight]).toEqual([1, false]);
    expect(answering.memory.left).toBe(BUDGET_BYTES);
  });

  test('a client that does not take a large answer gets no other one made', async () => {
    const setup = new ConnectionSetup(() => new Response('x'.repeat(100_000)));
    setup.socket.writable = 250_000;
    setup.send(GET.repeat(50));
    await setup.settle();
    expect(setup.asked.length).toBe(3);
    setup.socket.writable = 60_000;
    setup.connection.drain();
    await setup.settle();
    expect(setup.asked.length).toBe(4);
    expect(setup.socket.written.length).toBe(310_000);
  });

  test('clients that do not take their answers are cut off when all of them together have no memory left', async () => {
    // Large answers may take three quarters of it: that is enough for two.
    const budgetBytes = 300_000;
    const memory = new MemoryBudget(budgetBytes);
    const clients = Array.from(
      { length: 4 },
      () => new ConnectionSetup(() => new Response('x'.repeat(100_000)), 0, memory),
    );
    for (const { socket } of clients) socket.writable = 10;
    for (const client of clients) {
      client.send(GET.repeat(2));
      await client.settle();
    }
    const answerBytes = (budgetBytes - memory.left) / 2;
    expect([answerBytes > 100_000, answerBytes < 101_000]).toEqual([true, true]);
    expect(clients.map(({ socket }) => socket.look())).toEqual([[], [], ['terminate'], ['terminate']]);
    // Who was cut off gets nothing more answered, whatever the socket says.
    clients[2]?.connection.drain();
    for (const client of clients.slice(2)) client.connection.closed();
    expect(clients.map(({ asked }) => asked.length)).toEqual([1, 1, 1, 1]);
    expect(memory.left).toBe(budgetBytes - 2 * answerBytes);
    // One takes a part, and then all; the other one closes.
    const [first, second] = clients as [ConnectionSetup, ConnectionSetup];
    first.socket.writable = 50_000;
    first.connection.drain();
    expect(memory.left).toBe(budgetBytes - 2 * answerBytes);
    first.socket.writable = Infinity;
    first.connection.drain();
    await first.settle();
    expect([first.asked.length, first.socket.written.length]).toEqual([2, 2 * answerBytes]);
    expect(memory.left).toBe(budgetBytes - answerBytes);
    second.connection.closed();
    expect([memory.left, second.connection.isInFlight]).toEqual([budgetBytes, false]);
  });

  test('a client that sends on and on while it waits is told that there is no memory, behind the answer it waits for', async () => {
    const setup = new ConnectionSetup();
    setup.send(GET);
    await setup.settle();
    // A real socket is paused by then, and brings one more read at the most.
    setup.send(GET.repeat(20_000));
    setup.send(GET.repeat(20_000));
    setup.send(GET.repeat(20_000));
    expect(setup.memory.left).toBe(BUDGET_BYTES);
    setup.waiting[0]?.(new Response('x'));
    await setup.settle();
    expect(setup.socket.written).toEndWith('Connection: close\r\nContent-Length: 11\r\n\r\nUNAVAILABLE');
    expect([setup.asked.length, setup.socket.look()]).toEqual([1, ['pause', 'resume', 'shutdown']]);
  });
});

describe('long bodies', () => {
  const head = (bytes: number) => `POST /any HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n`;

  test('are taken as they come, and counted while they are held', async () => {
    const setup = new ConnectionSetup(() => new Response('x'));
    setup.send(head(500_000));
    for (let i = 0; i < 499; i++) setup.send('x'.repeat(1000));
    expect([setup.asked.length, setup.connection.isInFlight]).toEqual([0, true]);
    expect(setup.memory.left).toBe(BUDGET_BYTES - (500_000 - OWN_BYTES));
    setup.send('x'.repeat(1000));
    await setup.settle();
    expect([setup.asked, setup.bodies, setup.memory.left]).toEqual([['/any'], [500_000], BUDGET_BYTES]);
    // It is never kept from sending.
    expect(setup.socket.look()).toEqual([]);
  });

  test('keep their memory until they are answered, and tell whoever works on them when the client leaves', async () => {
    const setup = new ConnectionSetup();
    setup.send(head(500_000) + 'x'.repeat(500_000));
    await setup.settle();
    expect([setup.asked, setup.memory.left]).toEqual([['/any'], BUDGET_BYTES - (500_000 - OWN_BYTES)]);
    expect(setup.request?.signal.aborted).toBe(false);
    setup.connection.closed();
    expect(setup.request?.signal.aborted).toBe(true);
    setup.waiting[0]?.(new Response('x'));
    await setup.settle();
    expect(setup.memory.left).toBe(BUDGET_BYTES);
  });

  test('of many connections arrive a few at a time: the others receive nothing, and are not cut off for it', async () => {
    const setup = new ConnectionSetup(() => new Response('x'));
    const others = Array.from({ length: MAX_ARRIVING }, () => new Connection(setup.context, new FakeSocket()));
    for (const other of others) other.receive(Buffer.from(head(100_000)));
    setup.send(head(100_000));
    expect(setup.socket.look()).toEqual(['pause']);
    setup.connection.timedOut();
    expect(setup.socket.did.splice(0)).toEqual(['timeout']);
    others[0]?.receive(Buffer.alloc(100_000));
    expect(setup.socket.look()).toEqual(['resume']);
    // Now it might send. Who sends nothing has no more time than anyone else.
    setup.connection.timedOut();
    expect(setup.socket.look()).toEqual(['end']);
    for (const other of others) other.closed();
    setup.connection.closed();
    await setup.settle();
    expect(setup.memory.left).toBe(BUDGET_BYTES);
  });

  test('in chunks are large when they have brought more than a small one has: a small one waits for none of them', async () => {
    const setup = new ConnectionSetup(() => new Response('x'));
    const others = Array.from({ length: MAX_ARRIVING }, () => new Connection(setup.context, new FakeSocket()));
    for (const other of others) other.receive(Buffer.from(head(100_000)));
    const chunk = (bytes: number): string => `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`;
    const chunkedHead = 'POST /any HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
    setup.send(chunkedHead);
    setup.send(chunk(MAX_SMALL_BODY_BYTES));
    setup.send('0\r\n\r\n');
    await setup.settle();
    expect([setup.bodies, setup.socket.look()]).toEqual([[MAX_SMALL_BODY_BYTES], []]);
    setup.send(chunkedHead + chunk(MAX_SMALL_BODY_BYTES));
    expect(setup.socket.look()).toEqual([]);
    setup.send(chunk(1));
    expect(setup.socket.look()).toEqual(['pause']);
  });

  test('have more time for each 64 KiB, and for nothing less', () => {
    const setup = new ConnectionSetup();
    setup.send(head(200_000));
    const times = () => setup.socket.did.splice(0).length;
    expect(times()).toBe(1);
    for (let i = 0; i < 65; i++) setup.send('x'.repeat(1000));
    expect(times()).toBe(0);
    setup.send('x'.repeat(1000));
    expect(times()).toBe(1);
    for (let i = 0; i < 65; i++) setup.send('x'.repeat(1000));
    expect(times()).toBe(0);
    setup.send('x'.repeat(1000));
    expect(times()).toBe(1);
  });

  test('that are waited for with a word: nothing is answered before the word is out', async () => {
    const setup = new ConnectionSetup(() => new Response('x'));
    setup.socket.writable = 10;
    setup.send(`${head(2).replace('Host', 'Expect: 100-continue\r\nHost')}{}`);
    await setup.settle();
    expect([setup.asked, setup.socket.written]).toEqual([[], 'HTTP/1.1 1']);
    setup.socket.writable = Infinity;
    setup.connection.drain();
    await setup.settle();
    expect(setup.asked).toEqual(['/any']);
    expect(setup.socket.written).toStartWith('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n');
  });

  test('that all connections together have no memory for are refused', async () => {
    const setup = new ConnectionSetup();
    expect(setup.memory.take(BUDGET_BYTES - 50_000, 0)).toBe(true);
    setup.send(head(500_000));
    for (let i = 0; i < 200; i++) setup.send('x'.repeat(1000));
    await setup.settle();
    expect(setup.socket.written).toEndWith('UNAVAILABLE');
    expect([setup.asked.length, setup.memory.left]).toEqual([0, 50_000]);
  });
});

describe('when the turn is used up', () => {
  const verification = (bytes: number) =>
    `POST /v1/keys.verifyKey HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n${'x'.repeat(bytes)}`;

  /** Other connections have used the time of this pass. */
  function busy(answer: (() => Response) | null = null): ConnectionSetup {
    const setup = new ConnectionSetup(answer);
    expect(setup.context.turns.mayGoOn()).toBe(true);
    setup.nowMs += TURN_MS;
    return setup;
  }

  test('a small verification that is alone on its connection is answered at once', async () => {
    const setup = busy();
    setup.send(verification(MAX_TINY_BODY_BYTES));
    expect(setup.responses).toEqual([200]);
  });

  test('a longer one, and one behind another one, wait for the end of the pass', async () => {
    for (const text of [verification(MAX_TINY_BODY_BYTES + 1), verification(2).repeat(2)]) {
      const setup = busy();
      setup.send(text);
      const before = setup.responses.length;
      await setup.pass();
      expect([before, setup.responses.length]).toEqual([text.split('POST').length - 2, before + 1]);
    }
  });

  test('so does every other request, also one whose head has been read to its end, and it is in flight meanwhile', async () => {
    for (const text of [GET, 'POST /any HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}']) {
      const setup = busy(() => new Response('x'));
      setup.send(text);
      await setup.settle();
      expect([setup.asked, setup.connection.isInFlight]).toEqual([[], true]);
      await setup.pass();
      expect([setup.asked, setup.connection.isInFlight]).toEqual([['/any'], false]);
    }
  });

  test('a request whose client has gone is dropped', async () => {
    const setup = busy(() => new Response('x'));
    setup.send(GET);
    setup.connection.closed();
    await setup.pass();
    expect([setup.asked, setup.memory.left]).toEqual([[], BUDGET_BYTES]);
  });
});

describe('the end of a connection', () => {
  test('where the client may be sending, this side ends first, and what comes is passed over for a while', async () => {
    const setup = new ConnectionSetup();
    setup.send('nonsense\r\n\r\n');
    await setup.settle();
    expect(setup.socket.look()).toEqual(['shutdown']);
    for (let i = 0; i < 4; i++) {
      setup.connection.receive(Buffer.alloc(1 << 20));
      await setup.pass();
    }
    expect(setup.socket.look()).toEqual([]);
    setup.connection.receive(Buffer.alloc(1));
    expect(setup.socket.look()).toEqual(['terminate']);
    expect([setup.asked, setup.responses]).toEqual([[], [400]]);
  });

  test('what comes is passed over in turns, like a body that is read', async () => {
    const setup = new ConnectionSetup();
    setup.send('nonsense\r\n\r\n');
    await setup.settle();
    setup.socket.look();
    setup.connection.receive(Buffer.alloc(MAX_BYTES_PER_PASS));
    expect(setup.socket.look()).toEqual(['pause']);
    await setup.pass();
    expect(setup.socket.look()).toEqual(['resume']);
  });

  test('which then ends with the client, or with the time', async () => {
    for (const [end, done] of [
      [(setup: ConnectionSetup) => setup.connection.ended(), 'end'],
      [(setup: ConnectionSetup) => setup.connection.timedOut(), 'terminate'],
    ] as const) {
      const setup = new ConnectionSetup();
      setup.send('nonsense\r\n\r\n');
      await setup.settle();
      end(setup);
      expect(setup.socket.look()).toEqual(['shutdown', done]);
    }
  });

  test('a client that has ended gets every answer, then the connection is closed', async () => {
    const setup = new ConnectionSetup();
    setup.send(GET.repeat(3));
    setup.connection.ended();
    for (let i = 0; i < 3; i++) {
      await setup.settle();
      expect(setup.socket.look()).toEqual([]);
      setup.waiting[i]?.(new Response('x'));
    }
    await setup.settle();
    expect([setup.responses, setup.socket.look()]).toEqual([[200, 200, 200], ['end']]);
  });

  test('a client that has ended in the middle of a request gets none', () => {
    for (const part of ['', 'GET / HT', VERIFY.slice(0, -1)]) {
      const setup = new ConnectionSetup();
      if (part !== '') setup.send(part);
      setup.connection.ended();
      expect([setup.asked, setup.socket.look()]).toEqual([[], ['end']]);
    }
  });

  test('while the front stops, every answer is the last one, also of requests that were taken before', async () => {
    for (const request of [VERIFY, GET]) {
      const setup = new ConnectionSetup();
      setup.send(request);
      await setup.settle();
      setup.waiting.shift()?.(new Response('x'));
      await setup.settle();
      expect(setup.socket.written).not.toContain('Connection: close');
      setup.send(GET + request.repeat(3));
      await setup.settle();
      setup.context.lifetime.isStopping = true;
      setup.waiting.shift()?.(new Response('x'));
      await setup.settle();
      expect(setup.socket.written.split('Connection: close').length).toBe(2);
      // The client may be sending: a close could destroy the answer.
      expect([setup.asked.length, setup.connection.isInFlight]).toEqual([2, false]);
      expect(setup.socket.look()).toContain('shutdown');
      setup.send(request);
      await setup.settle();
      expect(setup.asked.length).toBe(2);
    }
    const setup = new ConnectionSetup();
    setup.context.lifetime.isStopping = true;
    setup.send(VERIFY + VERIFY);
    await setup.pass();
    expect([setup.asked, setup.socket.look()]).toEqual([['verify'], ['shutdown']]);
    expect(setup.socket.written).toContain('Connection: close');
  });

  test('behind a last request nothing is read', async () => {
    const setup = new ConnectionSetup(() => new Response('x'));
    setup.send(GET.replace('Host', 'Connection: close\r\nHost') + GET);
    setup.send(GET);
    await setup.settle();
    expect([setup.asked.length, setup.socket.look()]).toEqual([1, ['end']]);
  });
});

/** Parts of requests, whole and broken, put together in any order. */
const LINES = [
  'GET / HTTP/1.1\r\n',
  'POST /any HTTP/1.1\r\n',
  'POST /v1/keys.verifyKey HTTP/1.1\r\n',
  'GET /any HTTP/1.0\r\n',
  'Host: a\r\n',
  'Content-Length: 5\r\n',
  'Content-Length: 0\r\n',
  'Content-Length: 99999999\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Expect: 100-continue\r\n',
  'Connection: close\r\n',
  '\r\n',
  '12345',
  '5\r\n12345\r\n',
  '0\r\n\r\n',
  '0\r\nX: y\r\n\r\n',
  '5;a=b\r\n',
  '\n',
  '\0',
];
const WHOLE = [
  'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
  'POST /any HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12345',
  'POST /v1/keys.verifyKey HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12345',
  'POST /any HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n3\r\nabc\r\n0\r\n\r\n',
];

/** What is asked and answered when the bytes come in these pieces, and the client then ends its side. */
async function outcome(pieces: readonly string[]): Promise<object> {
  const setup = new ConnectionSetup(() => new Response('x'));
  for (const piece of pieces) {
    if (piece !== '') setup.send(piece);
    await setup.settle();
  }
  setup.connection.ended();
  await setup.settle();
  const { asked, bodies, responses, socket, memory } = setup;
  expect([memory.left, setup.connection.isInFlight]).toEqual([BUDGET_BYTES, false]);
  expect(socket.look().at(-1)).toBe('end');
  return { asked, bodies, responses, written: socket.written };
}

function cut(text: string, places: readonly number[]): string[] {
  const ends = [...new Set(places.map((place) => place % (text.length + 1)))].sort((a, b) => a - b);
  return [0, ...ends].map((start, i) => text.slice(start, ends[i] ?? text.length));
}

test('the same bytes mean the same, in whatever pieces they come; nothing is left in memory, and the connection ends', async () => {
  const part = fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom(...WHOLE) },
    { weight: 3, arbitrary: fc.constantFrom(...LINES) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 12 }), fc.array(fc.nat(2000)), async (parts, places) => {
      const text = parts.join('');
      expect(await outcome(cut(text, places))).toEqual(await outcome([text]));
    }),
    { numRuns: 300 },
  );
});
