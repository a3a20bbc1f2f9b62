import { expect, test } from 'bun:test';

import { until } from '../../tools/cluster/wait.ts';
import { Connection } from './connection.ts';
import { remainingIn } from './documentation/offline.ts';
import { TempFolder } from './process.ts';
import { Server } from './server.ts';

const READINESS = 'GET /v1/readiness HTTP/1.1\r\nHost: localhost\r\n\r\n';

async function readinessOf(server: Server): Promise<string> {
  using connection = await Connection.open(server.port, READINESS);
  return await connection.answer();
}

const start = (folder: TempFolder, KEYSTILE_STOP_DELAY: string): Promise<Server> =>
  Server.start(folder, { settings: { KEYSTILE_STOP_DELAY, KEYSTILE_LOG_LEVEL: 'info' } });

test.concurrent.each(['SIGTERM', 'SIGINT'] as const)(
  '%s: the service goes on answering new connections, and is not ready; a second signal ends it',
  async (signal) => {
    using folder = new TempFolder();
    await using server = await start(folder, '1h');
    const { key, keyId } = await server.createKey({ remaining: 5 });
    expect(await readinessOf(server)).toStartWith('HTTP/1.1 200 OK\r\n');
    server.child.signal(signal);
    await until('it is not ready', async () => (await readinessOf(server)).startsWith('HTTP/1.1 503 '));
    expect(await readinessOf(server)).toContain('\r\nConnection: close\r\n');
    for (let left = 4; left > 1; left--)
      expect(await server.verify(key)).toMatchObject({ valid: true, remaining: left });
    expect(server.child.stderr).toContain('the service was told to stop and keeps answering');
    // What follows at once is the same signal. So it is sent until one counts.
    const exited = server.child.exited();
    let isOver = false;
    void exited.then(() => (isOver = true));
    await until('it ends', () => {
      if (!isOver) server.child.signal('SIGTERM');
      return isOver;
    });
    expect(await exited).toBe(0);
    expect(await remainingIn(folder.join('data'), keyId)).toBe(2);
  },
);

test.concurrent('it ends by itself when the delay is over', async () => {
  using folder = new TempFolder();
  await using server = await start(folder, '1s');
  server.child.signal('SIGTERM');
  expect(await server.child.exited()).toBe(0);
  expect(server.child.stderr).toContain('keeps answering');
});
