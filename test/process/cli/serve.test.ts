import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { writeFileSync } from 'node:fs';

import { keystile } from './cliRun.ts';
import { TempFolder } from '../process.ts';
import { ROOT_KEY } from '../server.ts';

// Each command opens the database, which waits for the disk of a busy machine.
setDefaultTimeout(20_000);

describe('keystile serve', () => {
  test('all problems of the configuration are reported together, one on each line, before anything is created', async () => {
    const environment = { KEYSTILE_PRT: '1', KEYSTILE_LOG_LEVEL: 'loud', KEYSTILE_TIMEZONE: 'Mars/Olympus' };
    const { code, out, err } = await keystile(['serve', '--port', '70000', '--max-waiting=0'], {
      environment,
      isTerminal: true,
    });
    expect([code, out]).toEqual([78, '']);
    expect(err.split('\n').sort()).toEqual([
      '',
      '--max-waiting must be a whole number from 1 to 1000000, got "0".',
      '--port must be a port, 0 to 65535, got "70000".',
      'KEYSTILE_LOG_LEVEL must be one of debug, info, warn, error, got "loud".',
      'KEYSTILE_TIMEZONE must be an IANA time zone such as Europe/Berlin, got "Mars/Olympus".',
      'Unknown setting KEYSTILE_PRT. Did you mean KEYSTILE_PORT?',
    ]);
  });

  test('a root key that is too short is refused without being shown', async () => {
    const { code, err } = await keystile(['serve'], {
      environment: { KEYSTILE_ROOT_KEY: 'hunter2' },
      isTerminal: true,
    });
    expect([code, err]).toEqual([
      78,
      'KEYSTILE_ROOT_KEY must have at least 24 characters, all of them printable ASCII.\n',
    ]);
  });

  test('--show-config hides secrets; flags come before the environment, and the environment before the env file', async () => {
    using folder = new TempFolder();
    writeFileSync(
      folder.join('prod.env'),
      `KEYSTILE_HOST=0.0.0.0\nKEYSTILE_PORT=1111\n\n# a secret\nKEYSTILE_ROOT_KEY='${ROOT_KEY}'\nKEYSTILE_LOCATION = here # there\n`,
    );
    const environment = { KEYSTILE_PORT: '2222', KEYSTILE_DATA: '/env', KEYSTILE_KEY: 'for_verify_only' };
    const words = ['serve', '--show-config', '--env-file', folder.join('prod.env'), '--data', '/flag'];
    const { code, out } = await keystile([...words, '--json'], { environment });
    expect([code, JSON.parse(out)]).toEqual([
      0,
      expect.objectContaining({
        KEYSTILE_HOST: { value: '0.0.0.0', from: folder.join('prod.env') },
        KEYSTILE_PORT: { value: '2222', from: 'environment' },
        KEYSTILE_DATA: { value: '/flag', from: '--data' },
        KEYSTILE_ROOT_KEY: { value: '***', from: folder.join('prod.env') },
        KEYSTILE_LOCATION: { value: 'here', from: folder.join('prod.env') },
        KEYSTILE_TIMEZONE: { value: 'UTC', from: 'default' },
      }),
    ]);
    const shown = (await keystile(words, { environment })).out;
    expect(shown).toMatch(/^KEYSTILE_ROOT_KEY +\*\*\* +\S+\/prod\.env$/m);
    expect(shown + out).not.toContain(ROOT_KEY);
  });

  test('--show-config names the file of a secret, what named it, and a variable that other programs read too', async () => {
    using folder = new TempFolder();
    const [envFile, secret, token] = [folder.join('prod.env'), folder.join('root'), folder.join('token')];
    writeFileSync(envFile, `KEYSTILE_ROOT_KEY_FILE=${secret}\n`);
    writeFileSync(secret, ROOT_KEY);
    writeFileSync(token, 'for_metrics_only');
    const environment = { KEYSTILE_METRICS_TOKEN_FILE: token, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
    const { out } = await keystile(['serve', '--show-config', '--json', '--env-file', envFile], { environment });
    expect(JSON.parse(out)).toMatchObject({
      KEYSTILE_ROOT_KEY: { value: '***', from: `${secret} (KEYSTILE_ROOT_KEY_FILE, ${envFile})` },
      KEYSTILE_METRICS_TOKEN: { value: '***', from: `${token} (KEYSTILE_METRICS_TOKEN_FILE, environment)` },
      KEYSTILE_OTLP_ENDPOINT: {
        value: 'http://127.0.0.1:4318',
        from: 'OTEL_EXPORTER_OTLP_ENDPOINT, environment',
      },
    });
  });

  test('a missing env file is named, and its bad lines are shown by number only', async () => {
    using folder = new TempFolder();
    const path = folder.join('bad.env');
    expect((await keystile(['serve', '--env-file', path], { isTerminal: true })).err).toBe(
      `The file ${path} of --env-file cannot be read (ENOENT).\n`,
    );
    writeFileSync(path, 'KEYSTILE_PORT=1\nthe secret is hunter2\n');
    expect(await keystile(['serve', '--env-file', path], { isTerminal: true })).toEqual({
      code: 78,
      out: '',
      err: `Line 2 of ${path} must have the form NAME=value.\n`,
    });
  });

  test('variables that Kubernetes sets are ignored with a note', async () => {
    const environment = { KEYSTILE_PORT: 'tcp://10.0.0.1:7878', KEYSTILE_SERVICE_HOST: '10.0.0.1' };
    const { code, out, err } = await keystile(['serve', '--show-config'], { environment });
    expect([code, err.split('\n').length]).toEqual([0, 3]);
    expect(out).toMatch(/^KEYSTILE_PORT +7878 +default$/m);
  });
});
