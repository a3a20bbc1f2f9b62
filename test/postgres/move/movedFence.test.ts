import { expect, test } from 'bun:test';

import { KeystileNode } from '../../../tools/cluster/node.ts';
import { until } from '../../../tools/cluster/wait.ts';
import { keystile } from '../../process/cli/cliRun.ts';
import { PROGRAM, runToEnd, TempFolder } from '../../process/process.ts';
import { sharedServer } from '../../support/cluster/faultLab.ts';
import { onDatabase } from './moved.ts';

const MOVED =
  'The database was exported with --move: nothing is spent or changed in it. Try again: the new service will answer. To use this database again, run keystile data release.';

test('a node that was paused during a move spends and changes nothing, and a failed second move leaves the first in force', async () => {
  using folder = new TempFolder();
  const server = await sharedServer();
  const url = await server.createDatabase();
  const name = new URL(url).pathname.slice(1);
  const environment = onDatabase(url);
  const move = () => keystile(['data', 'export', folder.join('moved'), '--move', '--force'], { environment });
  const note = async () =>
    (await server.query("SELECT value FROM installation WHERE name = 'moved'", name))[0]?.['value'];
  {
    await using node = await KeystileNode.start({ location: 'eu', databaseUrl: url });
    const { apiId } = (await node.call('/v1/apis.createApi', { name: 'any' })).body;
    const { key } = (await node.call('/v1/keys.createKey', { apiId, remaining: 9 })).body;
    const spend = () => node.verify({ key });
    expect((await spend()).body).toMatchObject({ valid: true, remaining: 8 });

    node.pause();
    // As if it had been paused for long.
    await server.query('UPDATE nodes SET seen_at_ms = 0', name);
    expect((await move()).code).toBe(0);
    const first = await note();
    node.resume();

    const refused = { status: 503, body: { error: { code: 'UNAVAILABLE', message: MOVED } } };
    expect(await spend()).toMatchObject(refused);
    expect(await node.call('/v1/reservations.create', { key, cost: 1 })).toMatchObject(refused);
    expect(await node.call('/v1/apis.createApi', { name: 'too late' })).toMatchObject(refused);
    await until('it is not ready', async () => (await fetch(`${node.url}/v1/readiness`)).status === 503);
    expect(await (await fetch(`${node.url}/v1/readiness`)).json()).toMatchObject({ ready: false, reasons: [MOVED] });
    await until('its log says so', () => node.child.stderr.includes(MOVED) || node.child.stdout.includes(MOVED));

    const seen = 'SELECT id FROM nodes WHERE seen_at_ms > 0';
    await until('it is seen', async () => (await server.query(seen, name)).length === 1);
    expect((await move()).err).toStartWith('The node node_');
    expect(await note()).toBe(first);

    expect((await keystile(['data', 'release', '--yes'], { environment })).out).toBe('released\n');
    expect((await spend()).body).toMatchObject({ valid: true, remaining: 7 });
    expect((await node.call('/v1/apis.createApi', { name: 'in time' })).status).toBe(200);
    await node.stop();
  }
  expect((await move()).code).toBe(0);
  const last = await note();
  const limited = `trap '' XFSZ; ulimit -f 1; exec "$@"`;
  const words = ['data', 'export', folder.join('full'), '--move'];
  const full = await runToEnd({
    command: ['sh', '-c', limited, 'sh', ...PROGRAM, ...words],
    settings: { ...environment },
  });
  expect([full.code, full.stderr]).toEqual([1, expect.stringContaining('was not made (EFBIG')]);
  expect(await note()).toBe(last);
  const started = await runToEnd({ settings: { KEYSTILE_DATABASE_URL: url } });
  expect([started.code, started.stderr]).toEqual([78, expect.stringContaining('was exported with --move at ')]);
});
