import { describe, expect, test } from 'bun:test';

import { streamedAnswer } from '../../../src/http/answer/streamedAnswer.ts';
import { BUDGET_BYTES, ConnectionSetup } from '../front/fakeConnection.ts';

const CONTEXT = { requestId: 'req_1', isPretty: false, linkBase: '' };
const HEAD =
  'HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\ncontent-type: text/csv\r\nkeystile-request-id: req_1\r\n';
const GET = 'GET /rows HTTP/1.1\r\nHost: a\r\n\r\n';

/** A body that notes how far it was made. */
class Body {
  made = 0;
  isEnded = false;
  failure: unknown = null;

  async *pieces(texts: readonly string[], failsAfter = Infinity): AsyncGenerator<string> {
    try {
      for (const text of texts) {
        if (this.made === failsAfter) throw new Error('the database is gone');
        this.made++;
        yield text;
      }
    } finally {
      this.isEnded = true;
    }
  }

  answer(texts: readonly string[], failsAfter?: number): Promise<Response> {
    const pieces = this.pieces(texts, failsAfter);
    return streamedAnswer({ type: 'text/csv', pieces }, CONTEXT, (failure) => (this.failure = failure));
  }
}

async function ask(setup: ConnectionSetup, request: string, response: Promise<Response>): Promise<void> {
  setup.send(request);
  await setup.settle();
  setup.waiting.shift()?.(await response);
  await setup.settle();
}

describe('an answer of any length', () => {
  test('is sent in chunks as it is made, and the connection goes on', async () => {
    const setup = new ConnectionSetup();
    await ask(setup, GET, new Body().answer(['a,b\r\n', '', 'ä,2\r\n']));
    expect(Buffer.from(setup.socket.written, 'latin1').toString()).toBe(
      `${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\na,b\r\n\r\n6\r\nä,2\r\n\r\n0\r\n\r\n`,
    );
    setup.socket.written = '';
    await ask(setup, GET, Promise.resolve(new Response('next')));
    expect(setup.socket.written).toEndWith('\r\n\r\nnext');
    expect(setup.responses).toEqual([200, 200]);
  });

  test('to HTTP/1.0 ends with the connection, and to HEAD has no body', async () => {
    const old = new ConnectionSetup();
    await ask(old, 'GET /rows HTTP/1.0\r\n\r\n', new Body().answer(['a', 'b']));
    expect(old.socket.written).toBe(`${HEAD}Connection: close\r\n\r\nab`);
    expect(old.socket.look()).toContain('end');
    const setup = new ConnectionSetup();
    const body = new Body();
    await ask(setup, GET.replace('GET', 'HEAD'), body.answer(['a', 'b']));
    expect(setup.socket.written).toBe(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
    expect([body.made, body.isEnded]).toEqual([1, true]);
  });

  test('waits for a client that takes nothing, with one piece in memory; a client that never does is cut off', async () => {
    const setup = new ConnectionSetup();
    const body = new Body();
    setup.socket.writable = HEAD.length + 50;
    await ask(setup, GET, body.answer(Array.from({ length: 100 }, () => 'x'.repeat(1_000))));
    expect([body.made, BUDGET_BYTES - setup.memory.left]).toEqual([1, 1_007]);
    setup.socket.writable = 1_500;
    setup.connection.drain();
    await setup.settle();
    expect([body.made, BUDGET_BYTES - setup.memory.left]).toEqual([2, 1_007]);
    // What arrives meanwhile is answered afterwards.
    setup.send(GET);
    expect(setup.asked).toEqual(['/rows']);
    setup.connection.timedOut();
    expect(setup.socket.look()).toContain('terminate');
    setup.connection.closed();
    await setup.settle();
    expect([body.made, body.isEnded, body.failure, setup.memory.left]).toEqual([2, true, null, BUDGET_BYTES]);
  });

  test('goes on to its end when the client takes it in small parts', async () => {
    const setup = new ConnectionSetup();
    const texts = Array.from({ length: 30 }, (_, i) => `${i},`.repeat(40));
    setup.socket.writable = 0;
    await ask(setup, GET, new Body().answer(texts));
    for (let i = 0; i < 1_000 && !setup.socket.written.endsWith('0\r\n\r\n'); i++) {
      setup.socket.writable = 37;
      setup.connection.drain();
      await setup.settle();
    }
    const chunks = texts.map((text) => `${text.length.toString(16)}\r\n${text}\r\n`).join('');
    expect(setup.socket.written).toBe(`${HEAD}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
    setup.socket.writable = Infinity;
    await ask(setup, GET, Promise.resolve(new Response('next')));
    expect(setup.socket.written).toEndWith('\r\n\r\nnext');
  });

  test('is no longer made when the client leaves', async () => {
    const setup = new ConnectionSetup();
    const body = new Body();
    setup.socket.writable = 0;
    await ask(setup, GET, body.answer(['a', 'b', 'c']));
    setup.connection.closed();
    await setup.settle();
    expect([body.made <= 1, body.isEnded]).toEqual([true, true]);
  });

  test('that fails at its beginning is an error, and later a body without its end', async () => {
    const body = new Body();
    expect(body.answer(['a'], 0)).rejects.toThrow('the database is gone');
    const setup = new ConnectionSetup();
    const later = new Body();
    await ask(setup, GET, later.answer(['a', 'b'], 1));
    expect(setup.socket.written).toBe(`${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n`);
    expect([setup.socket.look().includes('terminate'), String(later.failure)]).toEqual([
      true,
      'Error: the database is gone',
    ]);
  });
});
