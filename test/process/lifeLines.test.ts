import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { VERSION } from '../../src/version.ts';
import { RENEWED } from '../support/certificates.ts';
import { SELF_SIGNED } from '../support/selfSigned.ts';
import { Child, PROGRAM, programOf, PROJECT, SERVE, TempFolder } from './process.ts';
import { Server } from './server.ts';

// A start waits for the disk of a busy machine.
setDefaultTimeout(30_000);

type Line = Record<string, unknown> & { readonly message: string };

/** The lines of a JSON log, without their time; a line that is none fails the test. */
function linesOf(log: string): Line[] {
  return log
    .trimEnd()
    .split('\n')
    .map((line) => {
      const { time, ...rest } = JSON.parse(line) as Line;
      expect(Date.parse(String(time))).toBeGreaterThan(0);
      return rest;
    });
}

async function ended(settings: Record<string, string>, ...words: string[]): Promise<{ code: number; log: string }> {
  await using child = new Child({ command: [...SERVE, ...words], settings });
  return { code: await child.exited(), log: child.stderr };
}

async function logged(server: Server, message: string, times = 1): Promise<Line[]> {
  for (;;) {
    const found = server.child.stderr.split('\n').slice(0, -1);
    if (found.filter((line) => line.includes(message)).length >= times) return linesOf(found.join('\n'));
    await Bun.sleep(10);
  }
}

describe('what ends a start is in the form of the log', () => {
  const cannotStart = (reason: string, exitCode = 78) => ({
    level: 'error',
    message: 'the service cannot start',
    reason,
    exitCode,
    version: VERSION,
  });

  test.concurrent('JSON where nobody watches: each wrong setting is a line', async () => {
    const { code, log } = await ended({ KEYSTILE_PORT: 'x', KEYSTILE_DATABASE_URL: 'mysql://root:s3cret@db/keys' });
    expect([code, linesOf(log)]).toEqual([
      78,
      [
        cannotStart('KEYSTILE_PORT must be a port, 0 to 65535, got "x".'),
        cannotStart('KEYSTILE_DATABASE_URL must look like postgres://user:password@host:5432/database.'),
      ],
    ]);
  });

  test.concurrent('JSON for a start that fails later, also when a file or a flag asks for it', async () => {
    using folder = new TempFolder();
    using taken = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
    writeFileSync(folder.join('env'), 'KEYSTILE_LOG_FORMAT=json\n');
    const settings = { KEYSTILE_DATA: folder.join('data'), KEYSTILE_PORT: String(taken.port) };
    for (const words of [[], ['--log-format', 'json'], ['--env-file', folder.join('env')]]) {
      const { code, log } = await ended(settings, ...words);
      const lines = linesOf(log).filter(({ message }) => message !== 'configuration');
      expect([code, lines]).toEqual([78, [cannotStart(expect.stringMatching(/^Port \d+ is in use\./) as never)]]);
    }
  });

  test.concurrent('text with its time where text is asked for, and a sentence on a terminal', async () => {
    const settings = { KEYSTILE_PORT: 'x' };
    const asText = await ended({ ...settings, KEYSTILE_LOG_FORMAT: 'text' });
    expect(asText.log).toMatch(
      /^\d{4}-\S+Z error the service cannot start reason="KEYSTILE_PORT must be a port, 0 to 65535, got \\"x\\"\." exitCode=78 version=\S+\n$/,
    );
    await using child = new Child({ settings, onTerminal: true });
    expect([await child.exited(), child.stdout]).toEqual([78, 'KEYSTILE_PORT must be a port, 0 to 65535, got "x".\n']);
  });
});

describe('a running service', () => {
  test.concurrent('tells its start and its stop with the reason and the version', async () => {
    using folder = new TempFolder();
    await using server = await Server.start(folder, {
      settings: { KEYSTILE_LOG_LEVEL: 'info', KEYSTILE_SERVICE_HOST: '10.0.0.1' },
    });
    expect(await server.stop()).toBe(0);
    expect(linesOf(server.child.stderr)).toEqual([
      {
        level: 'warn',
        message: 'KEYSTILE_SERVICE_HOST is ignored: Kubernetes sets such names for a Service.',
      },
      {
        level: 'info',
        message: 'the service has started',
        url: server.url,
        data: folder.join('data'),
        isNew: true,
        version: VERSION,
      },
      { level: 'info', message: 'the service stops', reason: 'SIGTERM', version: VERSION },
      { level: 'info', message: 'the service has stopped', exitCode: 0, version: VERSION },
    ]);
  });

  test.concurrent.each(['SIGUSR2', 'SIGUSR1'] as const)(
    'tells a bug that nobody has caught, and ends (%s)',
    async (signal) => {
      using folder = new TempFolder();
      const [bun = '', ...rest] = programOf(PROJECT);
      const command = [bun, '--preload', join(import.meta.dir, 'throwOnSignal.ts'), ...rest, 'serve'];
      await using server = await Server.start(folder, { command });
      server.child.signal(signal);
      expect(await server.child.exited()).toBe(1);
      expect(linesOf(server.child.stderr)).toEqual([
        {
          level: 'error',
          message: 'there is a bug in Keystile: the service stops',
          reason: expect.stringMatching(/^Error: made for a test\n +at /),
          exitCode: 1,
          version: VERSION,
        },
      ]);
    },
  );

  test.concurrent('on SIGHUP reads the level of its log again, names what needs a restart, and goes on', async () => {
    using folder = new TempFolder();
    const file = folder.join('env');
    const write = (...lines: string[]): void => writeFileSync(file, `${lines.join('\n')}\n`);
    write('KEYSTILE_LOG_LEVEL=info');
    await using server = await Server.start(folder, {
      // The environment comes before the file.
      command: ['env', '-u', 'KEYSTILE_LOG_LEVEL', ...PROGRAM, 'serve', '--env-file', file],
    });
    write('KEYSTILE_LOG_LEVEL=debug', 'KEYSTILE_TIMEZONE=Asia/Tokyo', 'KEYSTILE_MAX_KEYS=5');
    server.child.signal('SIGHUP');
    const read = 'the settings were read again';
    expect((await logged(server, read)).at(-1)).toEqual({
      level: 'info',
      message: read,
      logLevel: 'debug',
      restartFor: 'KEYSTILE_TIMEZONE KEYSTILE_MAX_KEYS',
    });
    write('KEYSTILE_LOG_LEVEL=loud');
    server.child.signal('SIGHUP');
    expect((await logged(server, 'cannot be read again')).at(-1)).toEqual({
      level: 'error',
      message: 'the settings cannot be read again; the previous ones stay in use',
      reason: 'KEYSTILE_LOG_LEVEL must be one of debug, info, warn, error, got "loud".',
    });
    write('KEYSTILE_LOG_LEVEL=error');
    server.child.signal('SIGHUP');
    await server.createKey({});
    expect(await server.stop()).toBe(0);
    // Neither the last reload nor the stop is an error.
    expect(linesOf(server.child.stderr).at(-1)?.message).toBe(
      'the settings cannot be read again; the previous ones stay in use',
    );
  });

  test.concurrent('on SIGHUP uses a renewed certificate at once', async () => {
    using folder = new TempFolder();
    const [cert, key] = [folder.join('cert'), folder.join('key')];
    const write = (pair: { cert: string; key: string }): void => {
      writeFileSync(cert, pair.cert);
      writeFileSync(key, pair.key);
    };
    write(SELF_SIGNED);
    await using server = await Server.start(folder, {
      settings: { KEYSTILE_TLS_CERT: cert, KEYSTILE_TLS_KEY: key, KEYSTILE_LOG_LEVEL: 'info' },
    });
    write(RENEWED);
    server.child.signal('SIGHUP');
    const lines = await logged(server, 'the settings were read again');
    expect(lines.map(({ message }) => message)).toEqual([
      'the service has started',
      'new connections use the new certificate',
      'the settings were read again',
    ]);
  });

  test.concurrent('ends with the terminal on which it was started', async () => {
    using folder = new TempFolder();
    await using server = await Server.start(folder, { onTerminal: true });
    server.child.closeTerminal();
    expect(await server.child.exited()).toBe(0);
  });
});
