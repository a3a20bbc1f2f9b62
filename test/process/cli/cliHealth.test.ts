import { expect, test } from 'bun:test';

import { runToEnd, TempFolder, PROGRAM } from '../process.ts';
import { Server } from '../server.ts';

const health = (url: string, ...flags: string[]) =>
  runToEnd({ settings: { KEYSTILE_URL: url }, command: [...PROGRAM, 'health', ...flags] });

test('keystile health tells whether the service can answer: 0 when it can, 1 when it cannot or is something else', async () => {
  using folder = new TempFolder();
  await using server = await Server.start(folder);
  expect(await health(server.url)).toMatchObject({ code: 0, stdout: 'The service is ready.\n', stderr: '' });
  const told = await health(server.url, '--json');
  expect([told.code, JSON.parse(told.stdout)]).toEqual([0, { ready: true, reasons: [], warnings: [] }]);

  expect(await health(server.url, '--exact')).toMatchObject({ code: 0, stdout: 'The service is ready.\n' });
  const asked: string[] = [];
  let body: unknown = { ready: false, reasons: ['The database has failed.'], warnings: [] };
  using other = Bun.serve({
    port: 0,
    fetch: ({ url: target }) => {
      asked.push(new URL(target).search);
      return Response.json(body, { status: 503 });
    },
  });
  const url = `http://127.0.0.1:${other.port}`;
  expect(await health(url)).toMatchObject({ code: 1, stdout: 'The service is not ready.\nThe database has failed.\n' });
  await health(url, '--exact');
  expect(asked).toEqual(['', '?for=exact']);
  body = 'ok';
  expect(await health(url)).toMatchObject({
    code: 1,
    stderr: `The server at ${url} does not answer like Keystile (HTTP 503). Check KEYSTILE_URL.\n`,
  });
  await other.stop(true);
  expect((await health(url)).stderr).toStartWith(`Nothing answers at ${url} (`);
});
