import { describe, expect, test } from 'bun:test';

import { readConfig } from '../../src/config/read.ts';
import { isLoopback } from '../../src/core/address.ts';
import { showConfig, describeConfig } from '../../src/config/describe.ts';
import { flagName, type Setting, VARIABLES } from '../../src/config/variables.ts';

const files: Readonly<Record<string, string>> = {
  '/run/root': 'root_0123456789abcdefghijkl\n',
  '/run/pepper': 'v1:0123456789abcdef',
};

function read(environment: Record<string, string>, flags: Partial<Record<Setting, string>> = {}) {
  return readConfig({
    environment,
    flags,
    readFile(path) {
      const text = files[path];
      if (text === undefined) throw Object.assign(new Error('no file'), { code: 'ENOENT' });
      return text;
    },
  });
}

const problems = (environment: Record<string, string>) => read(environment).problems;

describe('reading the configuration', () => {
  test('with nothing set, every setting has its documented default', () => {
    const { config, problems: found, notes } = read({ PATH: '/bin', HOME: '/root' });
    expect([found, notes]).toEqual([[], []]);
    expect(config).toMatchObject({
      host: '127.0.0.1',
      port: 7878,
      data: './data',
      rootKey: null,
      metricsHost: '127.0.0.1',
      metricsPort: 7879,
      timezone: 'UTC',
      ratelimitHeaders: true,
      syncInterval: 250,
      staleMax: 1000,
      idempotencyRetention: 3_600_000,
      verifyAuth: 'open',
    });
    expect(Object.keys(config ?? {}).sort()).toEqual([...Object.keys(VARIABLES), 'origins'].sort());
  });

  test('all problems are reported together, each with the name of its setting', () => {
    const { config, problems: found } = read({
      KEYSTILE_PORT: '99999',
      KEYSTILE_TIMEZONE: 'Mars/Olympus',
      KEYSTILE_HOSTT: 'x',
      KEYSTILE_LOG_LEVEL: 'loud',
      KEYSTILE_HOST: '',
    });
    expect(config).toBeNull();
    expect([...found].sort()).toEqual([
      'KEYSTILE_HOST must not be empty.',
      'KEYSTILE_LOG_LEVEL must be one of debug, info, warn, error, got "loud".',
      'KEYSTILE_PORT must be a port, 0 to 65535, got "99999".',
      'KEYSTILE_TIMEZONE must be an IANA time zone such as Europe/Berlin, got "Mars/Olympus".',
      'Unknown setting KEYSTILE_HOSTT. Did you mean KEYSTILE_HOST?',
    ]);
  });

  test('problems of single settings and of combinations are reported together', () => {
    const found = problems({
      KEYSTILE_PORT: 'x',
      KEYSTILE_ROOT_KEY: 'short',
      KEYSTILE_METRICS_HOST: '0.0.0.0',
    });
    expect(found.map((problem) => problem.split(' ')[0] ?? '').sort()).toEqual([
      'KEYSTILE_METRICS_HOST',
      'KEYSTILE_PORT',
      'KEYSTILE_ROOT_KEY',
    ]);
  });

  test('settings of backups: wrong values, without a folder, and beside PostgreSQL', () => {
    const every = 'must be a duration from 1m to 30d, such as 1h, 1d or 30d';
    expect(problems({ KEYSTILE_BACKUP_FOLDER: '', KEYSTILE_BACKUP_EVERY: '5s', KEYSTILE_BACKUP_KEEP: '0' })).toEqual([
      'KEYSTILE_BACKUP_FOLDER must not be empty.',
      `KEYSTILE_BACKUP_EVERY ${every}, got "5s".`,
      'KEYSTILE_BACKUP_KEEP must be a whole number from 1 to 10000, got "0".',
    ]);
    expect(problems({ KEYSTILE_BACKUP_EVERY: '1h', KEYSTILE_BACKUP_KEEP: '7' })).toEqual([
      'KEYSTILE_BACKUP_EVERY needs KEYSTILE_BACKUP_FOLDER. Set it too, or remove KEYSTILE_BACKUP_EVERY.',
      'KEYSTILE_BACKUP_KEEP needs KEYSTILE_BACKUP_FOLDER. Set it too, or remove KEYSTILE_BACKUP_KEEP.',
    ]);
    expect(problems({ KEYSTILE_BACKUP_FOLDER: '/b', KEYSTILE_DATABASE_URL: 'postgres://u@h/d' })).toEqual([
      'KEYSTILE_BACKUP_FOLDER is for the embedded database, and KEYSTILE_DATABASE_URL is set. Remove one of them; docs/backup.md shows how to back up PostgreSQL.',
    ]);
    expect(problems({ KEYSTILE_BACKUP_FOLDER: '/b', KEYSTILE_BACKUP_EVERY: '1h', KEYSTILE_BACKUP_KEEP: '7' })).toEqual(
      [],
    );
  });

  test('the address of a database of another kind is told with the other problems, and no part of it is repeated', () => {
    const wrong = 'must look like postgres://user:password@host:5432/database.';
    expect(problems({ KEYSTILE_PORT: 'x', KEYSTILE_DATABASE_URL: 'mysql://root:s3cret@db/keys' })).toEqual([
      'KEYSTILE_PORT must be a port, 0 to 65535, got "x".',
      `KEYSTILE_DATABASE_URL ${wrong}`,
    ]);
    expect(read({}, { databaseUrl: 'mysql://root:s3cret@db/keys' }).problems).toEqual([`--database-url ${wrong}`]);
    expect(problems({ KEYSTILE_DATABASE_URL: 'postgres://u:s3cret@db/x?sslmode=prefer' })).toEqual([
      'KEYSTILE_DATABASE_URL has an sslmode that is none of disable, require, verify-ca, verify-full.',
    ]);
  });

  test('a private key or a secret in the place of a path is refused, and not repeated', () => {
    const pem = '-----BEGIN PRIVATE KEY-----\nMIIB+s3cret\n-----END PRIVATE KEY-----';
    expect(problems({ KEYSTILE_TLS_CERT: 'cert.pem', KEYSTILE_TLS_KEY: pem })).toEqual([
      'KEYSTILE_TLS_KEY must name a file, but holds the key itself.',
    ]);
    expect(problems({ KEYSTILE_TLS_CERT: 'a\nb', KEYSTILE_TLS_KEY: 'key.pem' })).toEqual([
      'KEYSTILE_TLS_CERT must name a file, but holds the certificate itself.',
    ]);
    const absent = (name: string): string =>
      `${name}_FILE must name a file, but no file with this name can be read (ENOENT). To give the value itself, set ${name}.`;
    const readFile = (): string => {
      throw Object.assign(new Error(), { code: 'ENOENT' });
    };
    const environment = {
      KEYSTILE_DATABASE_URL_FILE: 'postgres://keystile:s3cret@db/keystile',
      KEYSTILE_PEPPER_FILE: '1:s3cret-s3cret-s3cret',
      KEYSTILE_ENCRYPTION_KEY_FILE: `/${'s3cret'.repeat(7)}=`,
    };
    expect(readConfig({ environment, flags: {}, readFile }).problems).toEqual([
      absent('KEYSTILE_DATABASE_URL'),
      absent('KEYSTILE_PEPPER'),
      absent('KEYSTILE_ENCRYPTION_KEY'),
    ]);
  });

  test('a setting that was given as a flag is named by the flag', () => {
    expect(readConfig({ environment: {}, flags: { tlsCert: 'cert.pem' }, readFile: () => '' }).problems).toEqual([
      '--tls-cert is set without KEYSTILE_TLS_KEY. Set both or neither.',
    ]);
  });

  test('a certificate needs its key, and a key its certificate', () => {
    expect(problems({ KEYSTILE_TLS_CERT: 'cert.pem' })).toEqual([
      'KEYSTILE_TLS_CERT is set without KEYSTILE_TLS_KEY. Set both or neither.',
    ]);
    expect(problems({ KEYSTILE_TLS_KEY: 'key.pem' })).toEqual([
      'KEYSTILE_TLS_KEY is set without KEYSTILE_TLS_CERT. Set both or neither.',
    ]);
    expect(problems({ KEYSTILE_TLS_CERT: 'cert.pem', KEYSTILE_TLS_KEY: 'key.pem' })).toEqual([]);
    expect(problems({ KEYSTILE_TLS_CERT: '', KEYSTILE_TLS_KEY: 'key.pem' })).toEqual([
      'KEYSTILE_TLS_CERT must not be empty.',
    ]);
  });

  test('wrong values of the guards are told with what they may be', () => {
    expect(problems({ KEYSTILE_NETWORK: 'home', KEYSTILE_MAX_CONNECTIONS_PER_ADDRESS: '0' })).toEqual([
      'KEYSTILE_NETWORK must be one of public, private, got "home".',
      'KEYSTILE_MAX_CONNECTIONS_PER_ADDRESS must be a whole number from 1 to 1000000, got "0".',
    ]);
  });

  test('an unknown name is a problem; a similar name is suggested only when there is one', () => {
    expect(problems({ KEYSTILE_COMPLETELY_DIFFERENT: '1' })).toEqual([
      'Unknown setting KEYSTILE_COMPLETELY_DIFFERENT. docs/configuration.md lists them all.',
    ]);
    expect(problems({ KEYSTILE_PEPPERS: 'x' })).toEqual([
      'Unknown setting KEYSTILE_PEPPERS. Did you mean KEYSTILE_PEPPER?',
    ]);
    expect(problems({ KEYSTILE_HOST_FILE: '/x' })[0]).toStartWith('Unknown setting KEYSTILE_HOST_FILE');
  });

  test('a setting that was removed is ignored with a note, whatever its value', () => {
    for (const value of ['front', 'runtime', '']) {
      const { problems: found, notes } = read({ KEYSTILE_HTTP_SERVER: value });
      expect([found, notes]).toEqual([
        [],
        ['KEYSTILE_HTTP_SERVER is ignored: the service always uses its own HTTP server. Remove this variable.'],
      ]);
    }
  });

  test('variables that Kubernetes sets for a Service called keystile are ignored, each with a note', () => {
    const { config, notes } = read({
      KEYSTILE_SERVICE_HOST: '10.0.0.1',
      KEYSTILE_SERVICE_PORT: '7878',
      KEYSTILE_SERVICE_PORT_HTTP: '7878',
      KEYSTILE_PORT: 'tcp://10.0.0.1:7878',
      KEYSTILE_PORT_7878_TCP: 'tcp://10.0.0.1:7878',
      KEYSTILE_PORT_7878_TCP_PROTO: 'tcp',
    });
    expect(config?.port).toBe(7878);
    expect(notes.length).toBe(6);
    expect(notes[0]).toBe('KEYSTILE_SERVICE_HOST is ignored: Kubernetes sets such names for a Service.');
  });

  test('a secret can be read from a file, without its line break', () => {
    const { config } = read({ KEYSTILE_ROOT_KEY_FILE: '/run/root', KEYSTILE_PEPPER_FILE: '/run/pepper' });
    expect(config?.rootKey).toBe('root_0123456789abcdefghijkl');
    expect(config?.pepper).toEqual([{ version: 'v1', secret: '0123456789abcdef' }]);
  });

  test('a secret that is set twice, and a file that cannot be read, are problems', () => {
    expect(problems({ KEYSTILE_PEPPER: 'v1:0123456789abcdef', KEYSTILE_PEPPER_FILE: '/run/pepper' })).toEqual([
      'KEYSTILE_PEPPER and KEYSTILE_PEPPER_FILE are both set. Set only one of them.',
    ]);
    expect(problems({ KEYSTILE_ROOT_KEY_FILE: '/run/none' })).toEqual([
      'The file /run/none of KEYSTILE_ROOT_KEY_FILE cannot be read (ENOENT).',
    ]);
  });

  test('a flag takes precedence over the environment, and is named when it is wrong', () => {
    expect(read({ KEYSTILE_PORT: '1' }, { port: '2' }).config?.port).toBe(2);
    expect(read({}, { port: 'x' }).problems).toEqual(['--port must be a port, 0 to 65535, got "x".']);
    expect(flagName('logLevel')).toBe('--log-level');
  });

  test.each([
    ['250', 250],
    ['250ms', 250],
    ['5s', 5_000],
    ['5 s', 5_000],
    ['1m', 60_000],
  ])('%s is a duration', (text, milliseconds) => {
    expect(read({ KEYSTILE_SYNC_INTERVAL: text }).config?.syncInterval).toBe(milliseconds);
  });

  test.each([['9ms'], ['61s'], ['1h'], ['-5s'], ['1.5s'], ['5 minutes'], ['s'], ['1e3'], ['9999999999999']])(
    '%s is not a duration from 10 ms to a minute',
    (text) => {
      expect(problems({ KEYSTILE_SYNC_INTERVAL: text })).toEqual([
        `KEYSTILE_SYNC_INTERVAL must be a duration from 10ms to 1m, such as 250ms or 5s, got "${text}".`,
      ]);
    },
  );

  test('an example in a message is in the range that the message names', () => {
    const wrong = Object.values(VARIABLES).flatMap(({ kind }) => {
      const outcome = kind.parse('no duration');
      const examples = 'problem' in outcome ? /duration from .*, such as (.*)$/.exec(outcome.problem)?.[1] : undefined;
      return (examples?.split(/, | or /) ?? []).map((example) => ({ example, parsed: kind.parse(example) }));
    });
    expect(wrong.length).toBeGreaterThan(10);
    expect(wrong.filter(({ parsed }) => 'problem' in parsed)).toEqual([]);
  });

  test.each([
    ['KEYSTILE_PORT', '-1'],
    ['KEYSTILE_PORT', '1.5'],
    ['KEYSTILE_PORT', '65536'],
    ['KEYSTILE_MAX_WAITING', '0'],
    ['KEYSTILE_RATELIMIT_HEADERS', 'maybe'],
    ['KEYSTILE_TRUSTED_PROXIES', '10.0.0.0/33'],
    ['KEYSTILE_TRUSTED_PROXIES', '10.0.0.1,,10.0.0.2'],
    ['KEYSTILE_CORS_ORIGINS', 'https://a.example/path'],
    ['KEYSTILE_PUBLIC_URL', 'ftp://a.example'],
    ['KEYSTILE_PEPPER', 'v1:short'],
    ['KEYSTILE_PEPPER', 'v1:0123456789abcdef,v1:fedcba9876543210'],
    ['KEYSTILE_ROOT_KEY', 'x'.repeat(23)],
    ['KEYSTILE_ROOT_KEY', `${'x'.repeat(30)}ä`],
    ['KEYSTILE_METRICS_HOST', '0.0.0.0'],
  ])('%s=%s is one problem that names the setting and not a secret value', (name, value) => {
    const found = problems({ [name]: value });
    expect(found.length).toBe(1);
    expect(found[0]).toStartWith(`${name} `);
    if (/ROOT_KEY|PEPPER|DATABASE_URL/.test(name)) expect(found[0]).not.toContain(value);
  });

  test('metrics on an address other than loopback need a token', () => {
    expect(problems({ KEYSTILE_METRICS_HOST: '0.0.0.0', KEYSTILE_METRICS_TOKEN: 'secret' })).toEqual([]);
    for (const host of ['127.0.0.1', '127.9.9.9', '::1', 'localhost', '::ffff:127.0.0.1']) {
      expect([host, isLoopback(host)]).toEqual([host, true]);
    }
    for (const host of ['0.0.0.0', '::', '128.0.0.1', '::2', '::127.0.0.1', 'example.com', '127.0.0.1.example.com']) {
      expect([host, isLoopback(host)]).toEqual([host, false]);
    }
  });

  test('the configuration is shown without its secrets', () => {
    const { config } = read({
      KEYSTILE_ROOT_KEY: 'root_0123456789abcdefghijkl',
      KEYSTILE_PEPPER: 'v1:0123456789abcdef',
      KEYSTILE_METRICS_TOKEN: 'metricssecret',
    });
    if (config === null) throw new Error('there are problems');
    const shown = showConfig(config);
    expect(shown).toMatchObject({ KEYSTILE_PORT: '7878', KEYSTILE_ROOT_KEY: '***', KEYSTILE_PEPPER: '***' });
    expect(JSON.stringify(shown)).not.toMatch(/0123456789|metricssecret/);
  });
});

const readVariables = (environment: Record<string, string>) =>
  readConfig({ environment, flags: {}, readFile: () => '' });

describe('the settings of OpenTelemetry', () => {
  test('a wrong value is a problem that says what is right', () => {
    const { config, problems: told } = readVariables({
      KEYSTILE_OTLP_ENDPOINT: 'localhost:4317',
      KEYSTILE_OTLP_HEADERS: 'authorization: secret',
      KEYSTILE_OTLP_SERVICE_NAME: '',
      KEYSTILE_OTLP_INTERVAL: '10ms',
      KEYSTILE_OTLP_TRACE_RATIO: '2',
    });
    expect(config).toBeNull();
    expect(told).toEqual([
      'KEYSTILE_OTLP_ENDPOINT must be a URL with http or https, got "localhost:4317".',
      'KEYSTILE_OTLP_HEADERS must be name=value, separated by commas, in printable ASCII.',
      'KEYSTILE_OTLP_SERVICE_NAME must not be empty.',
      'KEYSTILE_OTLP_INTERVAL must be a duration from 1s to 1h, such as 5s or 1h, got "10ms".',
      'KEYSTILE_OTLP_TRACE_RATIO must be a number from 0 to 1, such as 0.01, got "2".',
    ]);
  });

  test('the standard variables count where ours are not set; what is wrong in them is for other programs', () => {
    const standard = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20secret,x-tenant=a=b,bad=%',
      OTEL_SERVICE_NAME: 'keys',
      OTEL_METRIC_EXPORT_INTERVAL: '5000',
    };
    expect(readVariables(standard).config).toMatchObject({
      otlpEndpoint: 'http://collector:4318',
      otlpHeaders: { authorization: 'Bearer secret', 'x-tenant': 'a=b', bad: '%' },
      otlpServiceName: 'keys',
      otlpInterval: 5000,
      otlpTraceRatio: 0.01,
    });
    const { config } = readVariables(standard);
    if (config === null) throw new Error('the configuration is wrong');
    const shown = describeConfig(config).filter(({ name }) => name.includes('OTLP'));
    expect(shown.map(({ origin }) => origin)).toEqual([
      'environment',
      'environment',
      'environment',
      'environment',
      'default',
    ]);
    const own = readVariables({ ...standard, KEYSTILE_OTLP_ENDPOINT: 'https://own', KEYSTILE_OTLP_TRACE_RATIO: '.5' });
    expect(own.config).toMatchObject({ otlpEndpoint: 'https://own', otlpTraceRatio: 0.5 });
    const wrong = readVariables({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317', OTEL_SERVICE_NAME: '' });
    expect([wrong.config?.otlpEndpoint, wrong.problems, wrong.notes]).toEqual([
      null,
      [],
      [
        'OTEL_EXPORTER_OTLP_ENDPOINT is ignored: it must be a URL with http or https, got "collector:4317". Set KEYSTILE_OTLP_ENDPOINT instead.',
      ],
    ]);
  });

  test('headers of the standard variable go to the collector of the standard variable, and to no other', () => {
    const vendor = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://vendor',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20of%20the%20vendor',
    };
    const note = (given: string): string =>
      `OTEL_EXPORTER_OTLP_HEADERS is ignored: it belongs to OTEL_EXPORTER_OTLP_ENDPOINT, and ${given} names the collector. If that collector needs headers, set KEYSTILE_OTLP_HEADERS.`;
    const own = { KEYSTILE_OTLP_ENDPOINT: 'https://own' };
    const headersOf = (environment: Record<string, string>, flags: { otlpEndpoint?: string } = {}) => {
      const { config, notes } = readConfig({ environment, flags, readFile: () => '' });
      return [config?.otlpEndpoint, config?.otlpHeaders, config?.origins.otlpHeaders, notes];
    };
    expect(headersOf(vendor)).toEqual(['https://vendor', { authorization: 'Bearer of the vendor' }, 'standard', []]);
    expect(headersOf({ ...vendor, ...own })).toEqual([
      'https://own',
      null,
      'default',
      [note('KEYSTILE_OTLP_ENDPOINT')],
    ]);
    expect(headersOf(vendor, { otlpEndpoint: 'https://own' })).toEqual([
      'https://own',
      null,
      'default',
      [note('--otlp-endpoint')],
    ]);
    expect(headersOf({ ...vendor, ...own, KEYSTILE_OTLP_HEADERS: 'x-tenant=own' })).toEqual([
      'https://own',
      { 'x-tenant': 'own' },
      'environment',
      [],
    ]);
    expect(headersOf({ OTEL_EXPORTER_OTLP_HEADERS: 'authorization=vendor' })).toEqual([null, null, 'default', []]);
  });

  test.each([
    'http://user:hidden@collector:4318',
    'user:hidden@collector:4318',
    'http://collector:4318?token=hidden',
    'http://collector:4318/#hidden',
  ])('an endpoint with credentials is refused, and they are not repeated: %s', (given) => {
    const wanted = 'must have no user, password, query or fragment; credentials belong in KEYSTILE_OTLP_HEADERS.';
    expect(readVariables({ KEYSTILE_OTLP_ENDPOINT: given }).problems).toEqual([`KEYSTILE_OTLP_ENDPOINT ${wanted}`]);
    const { config, notes } = readVariables({ OTEL_EXPORTER_OTLP_ENDPOINT: given });
    expect([config?.otlpEndpoint, notes]).toEqual([
      null,
      [`OTEL_EXPORTER_OTLP_ENDPOINT is ignored: it ${wanted} Set KEYSTILE_OTLP_ENDPOINT instead.`],
    ]);
  });

  test.each(['a=b%0D%0Ax-admin:%201', 'a=b%00', 'a=%C3%A9', 'a=b\r\nc'])(
    'headers are checked as they are sent: %j',
    (given) => {
      expect(readVariables({ KEYSTILE_OTLP_HEADERS: given }).problems).toEqual([
        'KEYSTILE_OTLP_HEADERS must be name=value, separated by commas, in printable ASCII.',
      ]);
    },
  );

  test('OTEL_SDK_DISABLED=true turns it off, and says so', () => {
    const given = { KEYSTILE_OTLP_ENDPOINT: 'http://collector:4318' };
    for (const [value, otlpEndpoint, notes] of [
      ['True', null, ['Nothing is sent to a collector: OTEL_SDK_DISABLED is true.']],
      ['1', 'http://collector:4318', []],
    ] as const) {
      const reading = readVariables({ ...given, OTEL_SDK_DISABLED: value });
      expect([reading.config?.otlpEndpoint, reading.notes]).toEqual([otlpEndpoint, [...notes]]);
    }
    expect(readVariables({ OTEL_SDK_DISABLED: 'true' }).notes).toEqual([]);
  });

  test('the headers are a secret', () => {
    const { config } = readVariables({ KEYSTILE_OTLP_HEADERS: 'authorization=secret' });
    if (config === null) throw new Error('the configuration is wrong');
    expect(JSON.stringify(showConfig(config))).not.toContain('secret"');
    expect(showConfig(config)['KEYSTILE_OTLP_HEADERS']).toBe('***');
  });
});
