import { expect, test, describe } from 'bun:test';

import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { AlwaysOnSampler, InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';

import { Log } from '../../src/log.ts';
import { gauge } from '../../src/http/answer/metrics.ts';
import { readConfig } from '../../src/config/read.ts';
import { openTelemetry } from '../../src/serve/openTelemetry.ts';
import { CollectorWatch, FamilyProducer, watched, Spans, Telemetry } from '../../src/telemetry/telemetry.ts';

function logTo(lines: string[]): Log {
  return new Log({ level: 'info', format: 'json', nowMs: () => 0, write: (line) => lines.push(line) });
}

test('a value that is not there yet is not sent', async () => {
  const read = async () => [gauge('keystile_sync_lag_seconds', 'Lag.', NaN), gauge('keystile_wal_bytes', 'Log.', 7)];
  const producer = new FamilyProducer({ read, startedAtMs: 1_000, nowMs: () => 2_500, version: '1' });
  const { resourceMetrics } = await producer.collect();
  const points = resourceMetrics.scopeMetrics[0]?.metrics.map(({ descriptor, dataPoints }) => [
    descriptor.unit,
    dataPoints,
  ]);
  expect(points).toEqual([
    ['s', []],
    ['By', [{ startTime: [1, 0], endTime: [2, 500_000_000], attributes: {}, value: 7 }]],
  ]);
});

test('a collector that fails is logged once when it begins and once when it ends, for traces and metrics apart', () => {
  const lines: string[] = [];
  const watch = new CollectorWatch('http://collector', logTo(lines));
  const failed = { code: ExportResultCode.FAILED, error: new Error('away') };
  const done = { code: ExportResultCode.SUCCESS };
  const heard: ExportResult[] = [];
  /** An exporter whose exports end like this, one after the other. */
  const exportAll = (what: string, results: readonly ExportResult[]): void => {
    const left = [...results];
    const exporter = watched(
      { export: (_items: never[], ended: (result: ExportResult) => void) => ended(left.shift() ?? done) },
      what,
      watch,
    );
    for (const _ of results) exporter.export([], (result) => heard.push(result));
  };
  exportAll('traces', [done, failed, failed, failed, done, done]);
  exportAll('metrics', [{ code: ExportResultCode.FAILED }, { code: ExportResultCode.FAILED }]);
  expect(heard.length).toBe(8);
  expect(lines.map((line) => JSON.parse(line) as { message: string; reason?: string })).toMatchObject([
    {
      message: 'traces cannot be sent to the collector and are dropped; the service continues',
      reason: 'away',
    },
    { message: 'traces reach the collector again' },
    { message: 'metrics cannot be sent to the collector and are dropped; the service continues' },
  ]);
});

test('without its packages, a start says what to do', async () => {
  const environment = { KEYSTILE_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
  const { config } = readConfig({ environment, flags: {}, readFile: () => '' });
  if (config === null) throw new Error('the configuration is wrong');
  const failureOf = (load: Parameters<typeof openTelemetry>[2]): Promise<string | null> =>
    openTelemetry(config, logTo([]), load).then(
      () => null,
      (error: unknown) => String(error),
    );
  const absent = '@opentelemetry/not-installed';
  expect(await failureOf(() => import(absent))).toBe(
    'CannotStart: KEYSTILE_OTLP_ENDPOINT needs the packages of OpenTelemetry, and they are not installed. Run npm install with optional packages, or remove the setting.',
  );
  expect(await failureOf(() => Promise.reject(new Error('a bug')))).toBe('Error: a bug');
});

test('without its packages, a start that only the standard variable asks for goes on, and warns', async () => {
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
  const { config } = readConfig({ environment, flags: {}, readFile: () => '' });
  if (config === null) throw new Error('the configuration is wrong');
  const lines: string[] = [];
  const absent = '@opentelemetry/not-installed';
  expect(await openTelemetry(config, logTo(lines), () => import(absent))).toBeNull();
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    {
      level: 'warn',
      message:
        'OTEL_EXPORTER_OTLP_ENDPOINT needs the packages of OpenTelemetry, and they are not installed: nothing is sent. Run npm install with optional packages, or set OTEL_SDK_DISABLED=true.',
    },
  ]);
});

const NONE = new Headers();
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const from = (traceparent: string): Headers => new Headers({ traceparent });

function spansAt(ratio: number): { spans: Spans; exporter: InMemorySpanExporter } {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({
    sampler: new AlwaysOnSampler(),
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
  });
  return { spans: new Spans(provider.getTracer('test'), ratio), exporter };
}

describe('spans', () => {
  test.each([
    [0, 0],
    [0.01, 10],
    [0.25, 250],
    [1, 1000],
  ])('of 1,000 verifications, a ratio of %d traces %d', (ratio, expected) => {
    const { spans, exporter } = spansAt(ratio);
    for (let i = 0; i < 1000; i++) spans.verification(NONE)?.end({ verdict: 'VALID', error: null });
    expect(exporter.getFinishedSpans().length).toBe(expected);
  });

  test('a caller that does not record its trace is not traced, and one with a broken header begins a new trace', () => {
    const { spans, exporter } = spansAt(1);
    expect(spans.verification(from(`00-${TRACE}-b7ad6b7169203331-00`))).toBeNull();
    const broken = ['', 'x', `00-${TRACE}-0000000000000000-01`, `00-${TRACE}-b7ad6b7169203331-01`.padEnd(600, 'x')];
    for (const header of broken) spans.verification(from(header))?.end({ error: null });
    const found = exporter
      .getFinishedSpans()
      .map((span) => [span.parentSpanContext, span.spanContext().traceId === TRACE]);
    expect(found).toEqual(broken.map(() => [undefined, false]));
  });

  test('only a failure of the service itself is an error', () => {
    const { spans, exporter } = spansAt(1);
    const call = { method: 'POST', path: '/v1/keys.getKey', requestId: 'req_1' };
    for (const [status, error] of [
      [404, 'NOT_FOUND'],
      [503, 'UNAVAILABLE'],
    ] as const)
      spans.call(call, NONE)?.end({ status, error });
    expect(
      exporter.getFinishedSpans().map(({ status, attributes }) => [status.code, attributes['error.type']]),
    ).toEqual([
      [0, 'NOT_FOUND'],
      [2, 'UNAVAILABLE'],
    ]);
  });
});

test('a stop waits for a collector that hangs only for the time that it has, and sends what is left first', async () => {
  const arrived: string[] = [];
  const bothArrived = Promise.withResolvers<void>();
  const rests: number[] = [];
  const logged: string[] = [];
  const collector = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      arrived.push(new URL(request.url).pathname);
      if (arrived.length === 2) bothArrived.resolve();
      return new Promise<Response>(() => {});
    },
  });
  const telemetry = new Telemetry({
    endpoint: `http://127.0.0.1:${collector.port}`,
    headers: {},
    serviceName: 'keystile',
    intervalMs: 3_600_000,
    traceRatio: 1,
    version: '1',
    instance: 'a',
    location: 'b',
    log: new Log({ level: 'warn', format: 'json', nowMs: () => 0, write: (line) => logged.push(line) }),
    nowMs: () => 0,
    rest: (milliseconds) => {
      rests.push(milliseconds);
      return bothArrived.promise;
    },
  });
  telemetry.sendMetrics(async () => [gauge('keystile_ready', 'Ready.', 1)]);
  telemetry.tracer.verification(new Headers())?.end({ error: null });
  await telemetry.stop();
  expect([arrived.toSorted(), rests]).toEqual([['/v1/metrics', '/v1/traces'], [2_000]]);
  // The end of an export is logged: none has ended yet.
  expect(logged).toEqual([]);
  await collector.stop(true);
});
