import { expect, test } from 'bun:test';

import { openForData } from '../../../../src/storage/postgres/move.ts';
import { sharedServer } from '../../../support/cluster/faultLab.ts';

/** A message of the protocol of PostgreSQL. */
function message(type: string, ...parts: readonly (string | readonly number[])[]): Buffer {
  const body = Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(`${part}\0`) : Buffer.from(part))),
  );
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
}

const INT4 = [0, 0, 0, 23];
const READY = message('Z', [0x49]);
const SIGNED_IN = Buffer.concat([message('R', [0, 0, 0, 0]), READY]);
const UNKNOWN_SETTING = message('E', 'SFATAL', 'C42704', 'Munrecognized configuration parameter', [0]);
const VERSION_13 = Buffer.concat([
  message('T', [0, 1], 'version', [0, 0, 0, 0, 0, 0], INT4, [0, 4, 255, 255, 255, 255, 0, 0]),
  message('D', [0, 1, 0, 0, 0, 6], [...Buffer.from('130000')]),
  message('C', 'SELECT 1'),
  READY,
]);

test('a command on data tells a PostgreSQL that is too old by its version, although that does not know all settings', async () => {
  using server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data(socket, bytes) {
        if (bytes.includes('idle_session_timeout')) socket.end(UNKNOWN_SETTING);
        else socket.write(bytes.includes('server_version_num') ? VERSION_13 : SIGNED_IN);
      },
    },
  });
  const opened = openForData(`postgres://postgres@127.0.0.1:${server.port}/postgres`);
  expect(await opened.catch(String)).toBe('WrongServer: The database is PostgreSQL 13; Keystile needs 14 or newer.');
});

test('the connection of a command on data is not ended while it is idle, whatever the database has set', async () => {
  const server = await sharedServer();
  const url = await server.createDatabase();
  await server.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET idle_session_timeout = '1h'`);
  const client = await openForData(url);
  expect((await client.query('SHOW idle_session_timeout')).rows).toEqual([{ idle_session_timeout: '0' }]);
  await client.end();
});
