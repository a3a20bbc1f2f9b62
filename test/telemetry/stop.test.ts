import { expect, test } from 'bun:test';

import { gauge } from '../../src/http/answer/metrics.ts';
import { Log } from '../../src/log.ts';
import { Telemetry } from '../../src/telemetry/telemetry.ts';

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
