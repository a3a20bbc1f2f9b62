import { describe, expect, setDefaultTimeout, test } from 'bun:test';

import { readNote } from '../../src/storage/sqlite/file/installation.ts';
import { Connection } from './connection.ts';
import { runToEnd, SERVE, TempFolder } from './process.ts';
import { ROOT_KEY, Server } from './server.ts';

// Everything is waited for, and nothing takes a given time: a busy machine takes longer.
setDefaultTimeout(60_000);

const LIMIT = 300;
/** More than there are descriptors. */
const STRANGERS = 400;
const AT_A_TIME = 50;

/** The service as a shell starts it after `ulimit -n`. */
function limited(limit: number): string[] {
  return ['sh', '-c', `ulimit -n ${limit} && exec "$0" "$@"`, ...SERVE];
}

/** One connection that is kept, on which one request follows the other. */
class Client {
  readonly #connection: Connection;

  private constructor(connection: Connection) {
    this.#connection = connection;
  }

  static async open(server: Server): Promise<Client> {
    return new Client(await Connection.open(server.port));
  }

  async call(path: string, body: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
    const text = JSON.stringify(body);
    this.#connection.received = '';
    this.#connection.write(
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${ROOT_KEY}\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${text.length}\r\n\r\n${text}`,
    );
    const answer = await this.#connection.answer();
    const status = Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0);
    return {
      status,
      body: JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4) || '{}') as Record<string, unknown>,
    };
  }

  close(): void {
    this.#connection[Symbol.dispose]();
  }
}

async function metric(server: Server, name: string): Promise<number> {
  const address = /metrics on (\S+)/.exec(server.child.stdout)?.[1] ?? '';
  const text = await (await fetch(`http://${address}/metrics`)).text();
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
}

const noted = (folder: TempFolder): number => readNote(folder.join('data'))?.number ?? 0;

async function until(what: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await what())) await Bun.sleep(5);
}

describe(`with ${LIMIT} open files`, () => {
  test(`${STRANGERS} idle and OPTIONS connections: spends are answered, the disk is not called failed, and all works when they have left`, async () => {
    using folder = new TempFolder();
    const command = ['env', '-u', 'KEYSTILE_MAX_CONNECTIONS', ...limited(LIMIT)];
    await using server = await Server.start(folder, { command });
    const { key, keyId } = await server.createKey({ remaining: 10_000 });
    const { apiId } = (await server.ok('/v1/keys.getKey', { keyId })) as { apiId: string };
    const client = await Client.open(server);
    let remaining = 10_000;
    const spend = async (): Promise<void> => {
      expect((await client.call('/v1/keys.verifyKey', { key })).body).toMatchObject({
        valid: true,
        remaining: --remaining,
      });
    };
    const strangers: Connection[] = [];
    let tried = 0;
    while (tried < STRANGERS) {
      const options = 'OPTIONS /v1/keys.verifyKey HTTP/1.1\r\nHost: localhost\r\n\r\n';
      const opening = Array.from({ length: AT_A_TIME }, (_, i) =>
        Connection.open(server.port, i % 2 === 0 ? options : ''),
      );
      // One that is dropped may be told while it still connects.
      for (const opened of await Promise.allSettled(opening)) {
        if (opened.status === 'fulfilled') strangers.push(opened.value);
        tried++;
      }
      for (let i = 0; i < 3; i++) await spend();
    }
    expect(await metric(server, 'keystile_connections_refused_total')).toBeGreaterThan(0);
    // Within a second the number of the last commit is written to a file, which is opened for it. A listing starts a thread.
    const before = noted(folder);
    await spend();
    await until(() => noted(folder) > before);
    expect(await client.call('/v1/apis.listKeys', { apiId })).toMatchObject({ status: 200, body: { total: 1 } });
    await spend();

    for (const stranger of strangers) stranger[Symbol.dispose]();
    await until(async () => (await metric(server, 'keystile_connections')) <= 2);
    for (let i = 0; i < 20; i++) {
      const fresh = await Client.open(server);
      expect(await fresh.call('/v1/keys.verifyKey', { key })).toMatchObject({
        status: 200,
        body: { remaining: --remaining },
      });
      fresh.close();
    }
    expect(await server.remaining(keyId)).toBe(remaining);
    client.close();
    expect(await server.stop()).toBe(0);
    // Nobody has asked for more connections: one line below the banner says how many there are, and nothing warns.
    expect(server.child.stderr).toBe('');
    expect(server.child.stdout.trim().split('\n').slice(-2)).toEqual([
      'Ctrl-C stops it; nothing is lost.',
      expect.stringMatching(/^At most \d+ connections at a time: this process may have 300 files open\.$/),
    ]);
  });

  test('none left at all: spends go on, what needs a file answers 503, and comes back by itself', async () => {
    using folder = new TempFolder();
    await using server = await Server.start(folder, {
      command: limited(LIMIT),
      settings: { KEYSTILE_MAX_CONNECTIONS: '100' },
    });
    const { key, keyId } = await server.createKey({ remaining: 10_000 });
    const { apiId } = (await server.ok('/v1/keys.getKey', { keyId })) as { apiId: string };
    const client = await Client.open(server);
    const spend = async (): Promise<number> => {
      const { body } = await client.call('/v1/keys.verifyKey', { key });
      expect(body).toMatchObject({ valid: true });
      return body['remaining'] as number;
    };
    // The control socket is for the owner of the data folder, whose connections are not counted.
    const unix = folder.join('data/control.sock');
    const flood: Bun.Socket[] = [];
    try {
      while (flood.length < LIMIT) {
        const opening = Array.from({ length: AT_A_TIME }, () => Bun.connect({ unix, socket: { data() {} } }));
        flood.push(...(await Promise.all(opening)));
        await spend();
      }
      // A listing starts a thread, for which there are no descriptors; nor are there for the number of the last commit.
      await until(async () => (await client.call('/v1/apis.listKeys', { apiId })).status === 503);
      const told = ['commit-number could not be written', 'EMFILE'];
      await until(async () => (await spend()) >= 0 && told.every((words) => server.child.stderr.includes(words)));
    } finally {
      for (const socket of flood) socket.terminate();
    }
    await until(async () => (await client.call('/v1/apis.listKeys', { apiId })).status === 200);
    const before = noted(folder);
    const remaining = await spend();
    await until(() => noted(folder) > before);
    expect(await server.remaining(keyId)).toBe(remaining);
    client.close();
    expect(await server.stop()).toBe(0);
    expect(server.child.stderr).not.toContain('stopping');
  });

  test('whoever asks for more connections than fit is warned', async () => {
    using folder = new TempFolder();
    const settings = { KEYSTILE_MAX_CONNECTIONS: '1000' };
    await using server = await Server.start(folder, { command: limited(LIMIT), settings });
    expect(server.child.stderr).toContain('the limit of open files is too low for KEYSTILE_MAX_CONNECTIONS');
    expect(server.child.stdout).not.toContain('connections at a time');
  });

  test('a limit below what the service needs is one sentence that says how to raise it', async () => {
    using folder = new TempFolder();
    const settings = { KEYSTILE_DATA: folder.join('data') };
    const { code, stdout, stderr } = await runToEnd({ command: limited(150), settings });
    expect({ code, stdout, stderr }).toEqual({
      code: 78,
      stdout: '',
      stderr:
        'Keystile needs a limit of at least 156 open files, but this process has a limit of 150. Raise it with "ulimit -n 156", or with LimitNOFILE=156 under systemd.\n',
    });
  });
});
