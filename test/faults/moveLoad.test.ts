import { expect, test } from 'bun:test';

import { keystile } from '../process/cli/cliRun.ts';
import { remainingIn } from '../process/documentation/offline.ts';
import { type KeyLoad, verifyUnderLoad } from '../process/load.ts';
import { PROGRAM, runToEnd, TempFolder } from '../process/process.ts';
import { Server } from '../process/server.ts';
import { emptyDatabase } from '../postgres/move/moved.ts';

const CLIENTS = 4;
const CREDITS = 10_000_000;

/** Exports a running service with --move and imports it into the database. */
const WAYS = {
  'through a file': '"$@" data export moved --move && KEYSTILE_DATABASE_URL=$TARGET "$@" data import moved',
  'through a pipe': '"$@" data export - --move | KEYSTILE_DATABASE_URL=$TARGET "$@" data import -',
};

test.each(Object.entries(WAYS))(
  'a move under load %s loses no spend, and 503 is the only other answer',
  async (_way, script) => {
    using folder = new TempFolder();
    const environment = { KEYSTILE_DATA: folder.join('data') };
    await using server = await Server.start(folder);
    const loads: KeyLoad[] = (await server.createKeys(3, { remaining: CREDITS })).map((made) => ({
      ...made,
      valid: 0,
      unanswered: 0,
    }));
    const [free] = await server.createKeys(1, {});
    const others: unknown[] = [];
    const begun = Promise.withResolvers<void>();
    const load = verifyUnderLoad(server, loads, {
      clients: CLIENTS,
      // Until one is refused: every client then ends with its next answer.
      get maxRequests() {
        return others.length > 0 ? 0 : Infinity;
      },
      fields: (client, request) => (request % 2 === 0 ? {} : { idempotencyKey: `spend-${client}-${request}` }),
      onValid: (count) => {
        if (count === 200) begun.resolve();
      },
      onOther: (status, body) => {
        others.push([status, (body as { error?: { code: string } }).error?.code]);
      },
    });
    await begun.promise;
    const database = await emptyDatabase();
    const { KEYSTILE_DATABASE_URL: TARGET = '', ...settings } = { ...database, ...environment };
    const command = ['bash', '-o', 'pipefail', '-c', script, 'bash', ...PROGRAM];
    const moved = await runToEnd({ command, cwd: folder.path, settings: { ...settings, TARGET } });
    expect([moved.code, moved.stderr]).toEqual([
      0,
      expect.stringContaining('The service is held: it changes and spends'),
    ]);
    await load;
    expect(others.filter((each) => JSON.stringify(each) !== '[503,"UNAVAILABLE"]')).toEqual([]);

    // What spends nothing goes on; everything else says why not.
    expect((await server.verify(free?.key ?? '')).valid).toBe(true);
    const change = await server.call('/v1/apis.createApi', { name: 'too late' });
    expect([change.status, change.body.error.message]).toEqual([
      503,
      'The service is being moved to another database, and spends and changes nothing here. Try again: the new service will answer.',
    ]);
    const ready = await fetch(`${server.url}/v1/readiness`);
    expect([ready.status, await ready.json()]).toMatchObject([
      503,
      { ready: false, reasons: [change.body.error.message] },
    ]);

    for (const { keyId, valid } of loads)
      expect(await remainingIn(folder.join('none'), keyId, database)).toBe(CREDITS - valid);

    // A stop does not let it go on: every start is refused until someone releases it.
    expect(await server.stop()).toBe(0);
    const restarted = await runToEnd({ settings: environment });
    expect([restarted.code, restarted.stderr]).toEqual([
      78,
      expect.stringMatching(
        /^The data folder \S+ was exported with --move at \S+ \S+ UTC, and its credits may be spent in another place now\. Start the service there\. To use this one again, run keystile data release: .*\n$/,
      ),
    ]);
    expect((await keystile(['data', 'release', '--yes'], { environment })).out).toBe('released\n');
    for (const { keyId, valid } of loads) expect(await remainingIn(folder.join('data'), keyId)).toBe(CREDITS - valid);
  },
);
