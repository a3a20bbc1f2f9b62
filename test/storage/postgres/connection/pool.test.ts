import { afterEach, beforeEach, describe, expect, jest, test } from 'bun:test';

import { freePort } from '../../../../tools/cluster/ports.ts';
import { parseAddress } from '../../../../src/core/databaseUrl.ts';
import { Connector } from '../../../../src/storage/postgres/connection/connector.ts';
import { Pool } from '../../../../src/storage/postgres/connection/pool.ts';

const SIZE = 2;
const MAX_WAITING = 3;
const MAX_WAIT_MS = 5_000;
const TOO_MANY = 'Too many requests are waiting for the database.';
const TOO_LATE = 'The database was too busy to begin this request in time; nothing was changed.';

/** A database that takes connections and never says a word. */
let silent: Bun.TCPSocketListener;
let pool: Pool;

beforeEach(() => {
  jest.useFakeTimers();
  silent = Bun.listen({ hostname: '127.0.0.1', port: freePort(), socket: { data() {} } });
  const address = parseAddress(`postgres://postgres@127.0.0.1:${silent.port}/postgres?connect_timeout=60`);
  pool = new Pool(new Connector(address, 'node'), {
    settings: {},
    timeoutMs: 60_000,
    random: () => 0.5,
    monotonicMs: () => 0,
    size: SIZE,
    maxWaiting: MAX_WAITING,
  });
});

afterEach(() => {
  jest.useRealTimers();
  silent.stop(true);
});

/** What those who ask are told, in the order in which they are. */
function ask(count: number): string[] {
  const told: string[] = [];
  for (let i = 0; i < count; i++)
    pool.query({ text: 'SELECT 1' }).catch((error: unknown) => told.push((error as Error).message));
  return told;
}

async function turn(): Promise<void> {
  for (let i = 0; i < 10; i++) await Promise.resolve();
}

describe('a pool all of whose connections are in use', () => {
  test('lets as many wait as may, for 5 s each; one more is refused at once', async () => {
    const told = ask(SIZE + MAX_WAITING + 2);
    await turn();
    expect(told).toEqual([TOO_MANY, TOO_MANY]);
    jest.advanceTimersByTime(MAX_WAIT_MS - 1);
    await turn();
    expect(told).toEqual([TOO_MANY, TOO_MANY]);
    jest.advanceTimersByTime(1);
    await turn();
    expect(told).toEqual([TOO_MANY, TOO_MANY, TOO_LATE, TOO_LATE, TOO_LATE]);
  });

  test('has room again for those who come after some have waited in vain', async () => {
    ask(SIZE + MAX_WAITING);
    await turn();
    jest.advanceTimersByTime(MAX_WAIT_MS);
    const told = ask(MAX_WAITING + 1);
    await turn();
    expect(told).toEqual([TOO_MANY]);
  });
});
