import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { expect, test } from 'bun:test';

import { Log } from '../../src/log.ts';
import { gauge } from '../../src/http/answer/metrics.ts';
import { readConfig } from '../../src/config/read.ts';
import { openTelemetry } from '../../src/serve/openTelemetry.ts';
import { CollectorWatch, FamilyProducer, watched } from '../../src/telemetry/telemetry.ts';

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
