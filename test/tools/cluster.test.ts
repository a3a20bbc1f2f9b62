import { afterEach, beforeEach, describe, expect, test } from 'bun:test';

import type { Socket, TCPSocketListener } from 'bun';

import { TcpProxy } from '../../tools/cluster/proxy.ts';
import { until } from '../../tools/cluster/wait.ts';
import { Connection } from '../process/connection.ts';

/** A server that echoes every byte and records what it received. */
class Echo {
  received = '';
  open = 0;
  readonly #listener: TCPSocketListener<{ unsent: Buffer }>;

  constructor() {
    const send = (socket: Socket<{ unsent: Buffer }>) => {
      socket.data.unsent = socket.data.unsent.subarray(Math.max(0, socket.write(socket.data.unsent)));
    };
    this.#listener = Bun.listen<{ unsent: Buffer }>({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        open: (socket) => {
          this.open += 1;
          socket.data = { unsent: Buffer.alloc(0) };
        },
        data: (socket, bytes) => {
          this.received += bytes.toString('latin1');
          socket.data.unsent = Buffer.concat([socket.data.unsent, bytes]);
          send(socket);
        },
        drain: send,
        close: () => {
          this.open -= 1;
        },
      },
    });
  }

  get port(): number {
    return this.#listener.port;
  }

  stop(): void {
    this.#listener.stop(true);
  }
}

let echo: Echo;
let proxy: TcpProxy;

beforeEach(() => {
  echo = new Echo();
  proxy = TcpProxy.start({ target: echo.port });
});

afterEach(() => {
  proxy.stop();
  echo.stop();
});

const arrives = (connection: Connection, text: string) =>
  until(`${text} has come back`, () => connection.received === text);

/** Whether no answer arrives in a time that is long enough for a round trip on one machine. */
async function isSilent(connection: Connection): Promise<boolean> {
  const before = connection.received;
  await Bun.sleep(20);
  return connection.received === before;
}

describe('the proxy of the cluster', () => {
  test('forwards bytes in both directions and counts them', async () => {
    using client = await Connection.open(proxy.port, 'hello');
    await arrives(client, 'hello');
    expect(proxy.bytesForwarded).toEqual({ toServer: 5, toClient: 5 });
  });

  test('a delay makes round trips longer and keeps the order, also when it becomes shorter', async () => {
    proxy.setDelay(60);
    using client = await Connection.open(proxy.port);
    const startedAt = performance.now();
    client.write('1');
    await Bun.sleep(5);
    proxy.setDelay(0);
    client.write('2');
    await arrives(client, '12');
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(29);
    proxy.setDelay(40);
    const againAt = performance.now();
    client.write('3');
    await arrives(client, '123');
    expect(performance.now() - againAt).toBeGreaterThanOrEqual(39);
  });

  test('a sender that is faster than the line is paused, and all bytes arrive', async () => {
    const flood = Buffer.alloc(20_000_000, '0123456789');
    const back: Buffer[] = [];
    let sent = 0;
    const send = (socket: Socket) => {
      sent += Math.max(0, socket.write(flood.subarray(sent)));
    };
    proxy.hang();
    const client = await Bun.connect({
      hostname: '127.0.0.1',
      port: proxy.port,
      socket: { open: send, drain: send, data: (_socket, bytes) => void back.push(bytes) },
    });
    await Bun.sleep(30);
    expect(sent).toBeLessThan(flood.length);
    proxy.heal();
    await until('all is back', () => back.reduce((sum, { length }) => sum + length, 0) === flood.length);
    expect(Buffer.concat(back).equals(flood)).toBe(true);
    client.terminate();
  });

  test('a half-closed connection still receives its answer, and both sides see the end', async () => {
    using client = await Connection.open(proxy.port, 'bye');
    client.halfClose();
    await client.closed;
    expect(client.received).toBe('bye');
    await until('the server has closed it too', () => echo.open === 0);
  });

  test('cut resets connections and refuses new ones until heal', async () => {
    using client = await Connection.open(proxy.port, 'a');
    await arrives(client, 'a');
    proxy.cut();
    await client.closed;
    await until('the server has lost it too', () => echo.open === 0);
    expect(await Connection.open(proxy.port).catch((error: unknown) => error)).toMatchObject({ code: 'ECONNREFUSED' });
    proxy.heal();
    using again = await Connection.open(proxy.port, 'b');
    await arrives(again, 'b');
  });

  test('hang keeps connections open and silent; delayed bytes arrive after heal', async () => {
    using client = await Connection.open(proxy.port, 'a');
    await arrives(client, 'a');
    proxy.hang();
    client.write('b');
    using newcomer = await Connection.open(proxy.port, 'c');
    using leaver = await Connection.open(proxy.port, 'd');
    leaver[Symbol.dispose]();
    expect(await isSilent(client)).toBe(true);
    expect(echo).toMatchObject({ received: 'a', open: 1 });
    proxy.heal();
    await arrives(client, 'ab');
    await arrives(newcomer, 'c');
  });

  test('cutNext: the server does not see the request', async () => {
    const cut = proxy.cutNext((bytes) => bytes.includes('COMMIT'));
    using client = await Connection.open(proxy.port, 'BEGIN');
    await arrives(client, 'BEGIN');
    client.write('COMMIT');
    await Promise.all([cut, client.closed]);
    expect(echo.received).toBe('BEGIN');
  });

  test('cutBeforeAnswer: the server has done its work, and the client receives no answer', async () => {
    using other = await Connection.open(proxy.port, 'a');
    await arrives(other, 'a');
    const cut = proxy.cutBeforeAnswer();
    using client = await Connection.open(proxy.port, 'b');
    await Promise.all([cut, client.closed]);
    expect(client.received).toBe('');
    expect(echo.received).toBe('ab');
    other.write('c');
    await arrives(other, 'ac');
  });

  test('without a server the client is reset', async () => {
    echo.stop();
    using client = await Connection.open(proxy.port, 'a');
    await client.closed;
    expect(client.received).toBe('');
  });
});
