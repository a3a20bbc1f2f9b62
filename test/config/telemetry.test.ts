import { describe, expect, test } from 'bun:test';

import { readConfig } from '../../src/config/read.ts';
import { describeConfig, showConfig } from '../../src/config/describe.ts';

const read = (environment: Record<string, string>) => readConfig({ environment, flags: {}, readFile: () => '' });

describe('the settings of OpenTelemetry', () => {
  test('a wrong value is a problem that says what is right', () => {
    const { config, problems } = read({
      KEYSTILE_OTLP_ENDPOINT: 'localhost:4317',
      KEYSTILE_OTLP_HEADERS: 'authorization: secret',
      KEYSTILE_OTLP_SERVICE_NAME: '',
      KEYSTILE_OTLP_INTERVAL: '10ms',
      KEYSTILE_OTLP_TRACE_RATIO: '2',
    });
    expect(config).toBeNull();
    expect(problems).toEqual([
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
    expect(read(standard).config).toMatchObject({
      otlpEndpoint: 'http://collector:4318',
      otlpHeaders: { authorization: 'Bearer secret', 'x-tenant': 'a=b', bad: '%' },
      otlpServiceName: 'keys',
      otlpInterval: 5000,
      otlpTraceRatio: 0.01,
    });
    const { config } = read(standard);
    if (config === null) throw new Error('the configuration is wrong');
    const shown = describeConfig(config).filter(({ name }) => name.includes('OTLP'));
    expect(shown.map(({ origin }) => origin)).toEqual([
      'environment',
      'environment',
      'environment',
      'environment',
      'default',
    ]);
    const own = read({ ...standard, KEYSTILE_OTLP_ENDPOINT: 'https://own', KEYSTILE_OTLP_TRACE_RATIO: '.5' });
    expect(own.config).toMatchObject({ otlpEndpoint: 'https://own', otlpTraceRatio: 0.5 });
    const wrong = read({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317', OTEL_SERVICE_NAME: '' });
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
    expect(read({ KEYSTILE_OTLP_ENDPOINT: given }).problems).toEqual([`KEYSTILE_OTLP_ENDPOINT ${wanted}`]);
    const { config, notes } = read({ OTEL_EXPORTER_OTLP_ENDPOINT: given });
    expect([config?.otlpEndpoint, notes]).toEqual([
      null,
      [`OTEL_EXPORTER_OTLP_ENDPOINT is ignored: it ${wanted} Set KEYSTILE_OTLP_ENDPOINT instead.`],
    ]);
  });

  test.each(['a=b%0D%0Ax-admin:%201', 'a=b%00', 'a=%C3%A9', 'a=b\r\nc'])(
    'headers are checked as they are sent: %j',
    (given) => {
      expect(read({ KEYSTILE_OTLP_HEADERS: given }).problems).toEqual([
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
      const reading = read({ ...given, OTEL_SDK_DISABLED: value });
      expect([reading.config?.otlpEndpoint, reading.notes]).toEqual([otlpEndpoint, [...notes]]);
    }
    expect(read({ OTEL_SDK_DISABLED: 'true' }).notes).toEqual([]);
  });

  test('the headers are a secret', () => {
    const { config } = read({ KEYSTILE_OTLP_HEADERS: 'authorization=secret' });
    if (config === null) throw new Error('the configuration is wrong');
    expect(JSON.stringify(showConfig(config))).not.toContain('secret"');
    expect(showConfig(config)['KEYSTILE_OTLP_HEADERS']).toBe('***');
  });
});
