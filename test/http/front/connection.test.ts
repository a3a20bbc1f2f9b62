import { describe, expect, test } from 'bun:test';

import { OWN_BYTES, Store } from '../../../src/http/front/memoryBudget.ts';
import { TURN_MS } from '../../../src/http/front/fairTurns.ts';
import { STORE_BYTES, World } from './fakeConnection.ts';

const GET = 'GET /any HTTP/1.1\r\nHost: a\r\n\r\n';
const VERIFY = 'POST /v1/keys.verifyKey HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}';

describe('requests that come together', () => {
  test('verifications are answered for the time of a turn, and go on when others had theirs', async () => {
    const world = new World(null, 0.5);
    world.send(VERIFY.repeat(20));
    const inATurn = TURN_MS / 0.5;
    expect(world.asked.length).toBe(1 + inATurn);
    await world.pass();
    // The first of a turn is free.
    expect(world.asked.length).toBe(1 + inATurn + inATurn);
    for (let i = 0; i < 4; i++) await world.pass();
    expect(world.responses).toEqual(Array.from({ length: 20 }, () => 200));
  });

  test('so are requests of other kinds, whose answers wait for nothing', async () => {
    const world = new World((self) => {
      self.nowMs += 1;
      return new Response('x');
    });
    world.send(GET.repeat(20));
    await world.settle();
    expect(world.asked.length).toBe(1 + TURN_MS);
    await world.pass();
    expect(world.asked.length).toBe(1 + 2 * TURN_MS);
  });

  test('what waits is not read further, and nothing more is taken of it', async () => {
    const world = new World();
    world.send(GET.repeat(1000));
    await world.settle();
    expect([world.asked.length, world.socket.look()]).toEqual([1, ['pause']]);
    expect(world.store.left).toBe(STORE_BYTES - (1000 * GET.length - OWN_BYTES));
    for (let i = 0; i < 999; i++) {
      world.waiting[i]?.(new Response('x'));
      await world.settle();
    }
    expect([world.asked.length, world.socket.look()]).toEqual([1000, ['resume']]);
    expect(world.store.left).toBe(STORE_BYTES);
  });

  test('are dropped when the connection is closed, before their turn or while one is answered', async () => {
    const inTurn = new World(null, TURN_MS);
    inTurn.send(VERIFY.repeat(1000));
    inTurn.connection.closed();
    await inTurn.pass();
    await inTurn.pass();
    expect(inTurn.asked.length).toBe(2);
    const answering = new World();
    answering.send(GET.repeat(1000));
    await answering.settle();
    answering.connection.closed();
    answering.socket.room = 0;
    answering.waiting[0]?.(new Response('x'));
    await answering.pass();
    expect([answering.asked.length, answering.connection.isInFlight]).toEqual([1, false]);
    expect(answering.store.left).toBe(STORE_BYTES);
  });

  test('a client that does not take a large answer gets no other one made', async () => {
    const world = new World(() => new Response('x'.repeat(100_000)));
    world.socket.room = 250_000;
    world.send(GET.repeat(50));
    await world.settle();
    expect(world.asked.length).toBe(3);
    world.socket.room = 60_000;
    world.connection.drain();
    await world.settle();
    expect(world.asked.length).toBe(4);
    expect(world.socket.written.length).toBe(310_000);
  });

  test('clients that do not take their answers are cut off when all of them together have no memory left', async () => {
    // Large answers may take three quarters of it: that is enough for two.
    const budgetBytes = 300_000;
    const store = new Store(budgetBytes);
    const clients = Array.from({ length: 4 }, () => new World(() => new Response('x'.repeat(100_000)), 0, store));
    for (const { socket } of clients) socket.room = 10;
    for (const client of clients) {
      client.send(GET.repeat(2));
      await client.settle();
    }
    const answerBytes = (budgetBytes - store.left) / 2;
    expect([answerBytes > 100_000, answerBytes < 101_000]).toEqual([true, true]);
    expect(clients.map(({ socket }) => socket.look())).toEqual([[], [], ['terminate'], ['terminate']]);
    // Who was cut off gets nothing more answered, whatever the socket says.
    clients[2]?.connection.drain();
    for (const client of clients.slice(2)) client.connection.closed();
    expect(clients.map(({ asked }) => asked.length)).toEqual([1, 1, 1, 1]);
    expect(store.left).toBe(budgetBytes - 2 * answerBytes);
    // One takes a part, and then all; the other one closes.
    const [first, second] = clients as [World, World];
    first.socket.room = 50_000;
    first.connection.drain();
    expect(store.left).toBe(budgetBytes - 2 * answerBytes);
    first.socket.room = Infinity;
    first.connection.drain();
    await first.settle();
    expect([first.asked.length, first.socket.written.length]).toEqual([2, 2 * answerBytes]);
    expect(store.left).toBe(budgetBytes - answerBytes);
    second.connection.closed();
    expect([store.left, second.connection.isInFlight]).toEqual([budgetBytes, false]);
  });

  test('a client that sends on and on while it waits is told that there is no memory, behind the answer it waits for', async () => {
    const world = new World();
    world.send(GET);
    await world.settle();
    // A real socket is paused by then, and brings one more read at the most.
    world.send(GET.repeat(20_000));
    world.send(GET.repeat(20_000));
    world.send(GET.repeat(20_000));
    expect(world.store.left).toBe(STORE_BYTES);
    world.waiting[0]?.(new Response('x'));
    await world.settle();
    expect(world.socket.written).toEndWith('Connection: close\r\nContent-Length: 11\r\n\r\nUNAVAILABLE');
    expect([world.asked.length, world.socket.look()]).toEqual([1, ['pause', 'resume', 'shutdown']]);
  });
});

describe('long bodies', () => {
  const head = (bytes: number) => `POST /any HTTP/1.1\r\nHost: a\r\nContent-Length: ${bytes}\r\n\r\n`;

  test('are taken as they come, and counted while they are held', async () => {
    const world = new World(() => new Response('x'));
    world.send(head(500_000));
    for (let i = 0; i < 499; i++) world.send('x'.repeat(1000));
    expect([world.asked.length, world.connection.isInFlight]).toEqual([0, true]);
    expect(world.store.left).toBe(STORE_BYTES - (500_000 - OWN_BYTES));
    world.send('x'.repeat(1000));
    await world.settle();
    expect([world.asked, world.bodies, world.store.left]).toEqual([['/any'], [500_000], STORE_BYTES]);
    // It is never kept from sending.
    expect(world.socket.look()).toEqual([]);
  });

  test('have more time for each 64 KiB, and for nothing less', () => {
    const world = new World();
    world.send(head(200_000));
    const times = () => world.socket.did.splice(0).length;
    expect(times()).toBe(1);
    for (let i = 0; i < 65; i++) world.send('x'.repeat(1000));
    expect(times()).toBe(0);
    world.send('x'.repeat(1000));
    expect(times()).toBe(1);
    for (let i = 0; i < 65; i++) world.send('x'.repeat(1000));
    expect(times()).toBe(0);
    world.send('x'.repeat(1000));
    expect(times()).toBe(1);
  });

  test('that are waited for with a word: nothing is answered before the word is out', async () => {
    const world = new World(() => new Response('x'));
    world.socket.room = 10;
    world.send(`${head(2).replace('Host', 'Expect: 100-continue\r\nHost')}{}`);
    await world.settle();
    expect([world.asked, world.socket.written]).toEqual([[], 'HTTP/1.1 1']);
    world.socket.room = Infinity;
    world.connection.drain();
    await world.settle();
    expect(world.asked).toEqual(['/any']);
    expect(world.socket.written).toStartWith('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n');
  });

  test('that all connections together have no memory for are refused', async () => {
    const world = new World();
    expect(world.store.take(STORE_BYTES - 50_000, 0)).toBe(true);
    world.send(head(500_000));
    for (let i = 0; i < 200; i++) world.send('x'.repeat(1000));
    await world.settle();
    expect(world.socket.written).toEndWith('UNAVAILABLE');
    expect([world.asked.length, world.store.left]).toEqual([0, 50_000]);
  });
});

describe('the end of a connection', () => {
  test('where the client may be sending, this side ends first, and what comes is passed over for a while', async () => {
    const world = new World();
    world.send('nonsense\r\n\r\n');
    await world.settle();
    expect(world.socket.look()).toEqual(['shutdown']);
    for (let i = 0; i < 4; i++) world.connection.receive(Buffer.alloc(1 << 20));
    expect(world.socket.look()).toEqual([]);
    world.connection.receive(Buffer.alloc(1));
    expect(world.socket.look()).toEqual(['terminate']);
    expect([world.asked, world.responses]).toEqual([[], [400]]);
  });

  test('which then ends with the client, or with the time', async () => {
    for (const [end, done] of [
      [(world: World) => world.connection.ended(), 'end'],
      [(world: World) => world.connection.timedOut(), 'terminate'],
    ] as const) {
      const world = new World();
      world.send('nonsense\r\n\r\n');
      await world.settle();
      end(world);
      expect(world.socket.look()).toEqual(['shutdown', done]);
    }
  });

  test('a client that has ended gets every answer, then the connection is closed', async () => {
    const world = new World();
    world.send(GET.repeat(3));
    world.connection.ended();
    for (let i = 0; i < 3; i++) {
      await world.settle();
      expect(world.socket.look()).toEqual([]);
      world.waiting[i]?.(new Response('x'));
    }
    await world.settle();
    expect([world.responses, world.socket.look()]).toEqual([[200, 200, 200], ['end']]);
  });

  test('a client that has ended in the middle of a request gets none', () => {
    for (const part of ['', 'GET / HT', VERIFY.slice(0, -1)]) {
      const world = new World();
      if (part !== '') world.send(part);
      world.connection.ended();
      expect([world.asked, world.socket.look()]).toEqual([[], ['end']]);
    }
  });

  test('behind a last request nothing is read', async () => {
    const world = new World(() => new Response('x'));
    world.send(GET.replace('Host', 'Connection: close\r\nHost') + GET);
    world.send(GET);
    await world.settle();
    expect([world.asked.length, world.socket.look()]).toEqual([1, ['end']]);
  });
});
