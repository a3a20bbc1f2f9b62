import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { freePort } from '../../../tools/cluster/ports.ts';
import { PROJECT, TempFolder } from '../process.ts';
import { Server } from '../server.ts';
import { Collector, valuesOf } from './collector.ts';

setDefaultTimeout(20_000);

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

/** A verification whose caller sends its trace. */
async function verifyTraced(server: Server, key: string, sampled: '00' | '01'): Promise<void> {
  const headers = { 'content-type': 'application/json', traceparent: `00-${TRACE}-${PARENT}-${sampled}` };
  await fetch(`${server.url}/v1/keys.verifyKey`, { method: 'POST', headers, body: JSON.stringify({ key }) });
}

describe('a service with a collector', () => {
  test('sends spans of management calls and verifications, which continue the trace of their caller, and no secret', async () => {
    using folder = new TempFolder();
    using collector = new Collector();
    const settings = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
      KEYSTILE_OTLP_HEADERS: 'authorization=Bearer%20of%20the%20collector',
      // For other programs: what our setting does not name is not sent.
      OTEL_EXPORTER_OTLP_HEADERS: 'x-planted=of-another-collector',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-planted-traces=of-another-collector',
      OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'x-planted-metrics=of-another-collector',
      KEYSTILE_OTLP_TRACE_RATIO: '1',
      KEYSTILE_LOCATION: 'eu-central',
    };
    await using server = await Server.start(folder, { settings });
    const { keyId, key } = await server.createKey({ name: 'planted-name', meta: { planted: 'planted-meta' } });
    await verifyTraced(server, key, '01');
    await verifyTraced(server, key, '00');
    await server.verify('demo_planted_unknown_key');
    await server.call('/v1/keys.getKey', { keyId: 'key_planted' });
    // What is left is sent before the process ends.
    expect(await server.stop()).toBe(0);

    const spans: object[] = collector.spans.map(({ name, traceId, parentSpanId, status, attributes }) => {
      const { 'keystile.request_id': requestId, ...values } = valuesOf(attributes);
      expect(requestId === undefined).toBe(name === 'verify');
      return { name, ...values, isError: status.code === 2, parent: traceId === TRACE ? parentSpanId : null };
    });
    const call = (path: string, status: number, more = {}) => ({
      name: `POST ${path}`,
      'http.request.method': 'POST',
      'http.route': path,
      'http.response.status_code': status,
      ...more,
      isError: false,
      parent: null,
    });
    expect(spans).toEqual([
      call('/v1/apis.createApi', 200),
      call('/v1/keys.createKey', 200),
      { name: 'verify', 'keystile.verdict': 'VALID', isError: false, parent: PARENT },
      { name: 'verify', 'keystile.verdict': 'NOT_FOUND', isError: false, parent: null },
      call('/v1/keys.getKey', 404, { 'error.type': 'NOT_FOUND' }),
    ]);
    const everything = collector.bodies.map(({ text }) => text).join('\n');
    for (const secret of [key, server.rootKey, keyId, 'planted', Bun.SHA256.hash(key, 'hex')])
      expect(everything).not.toContain(secret);
    expect(collector.resource).toMatchObject({ 'service.name': 'keystile', 'keystile.location': 'eu-central' });
    expect(new Set(collector.bodies.map(({ headers }) => headers.get('authorization')))).toEqual(
      new Set(['Bearer of the collector']),
    );
    const names = collector.bodies.flatMap(({ headers }) => [...headers.keys()]);
    expect(names.filter((name) => name.startsWith('x-planted'))).toEqual([]);
  });

  test('sends the same metrics that Prometheus reads', async () => {
    using folder = new TempFolder();
    using collector = new Collector();
    await using server = await Server.start(folder, { settings: { KEYSTILE_OTLP_ENDPOINT: collector.url } });
    for (let i = 0; i < 3; i++) await server.verify('demo_unknown_key');
    const [, address = ''] = /metrics on (\S+)/.exec(server.child.stdout) ?? [];
    const text = await (await fetch(`http://${address}/metrics`)).text();
    expect(await server.stop()).toBe(0);
    const read = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => `${name} ${type}`);
    const sent = collector.metrics.map(({ name, sum, gauge }) => {
      const type = sum?.isMonotonic === true ? 'counter' : gauge === undefined ? 'histogram' : 'gauge';
      return `${name} ${type}`;
    });
    expect(sent).toEqual(read);
    const seconds = collector.metrics.find(({ name }) => name === 'keystile_verify_seconds');
    const [point] = seconds?.histogram?.dataPoints ?? [];
    expect([seconds?.unit, point?.count, point?.bucketCounts.length]).toEqual(['s', 3, 15]);
    expect(point?.explicitBounds.length).toBe(14);
    // Without a ratio, one of a hundred verifications is traced: none of three.
    expect(collector.spans).toEqual([]);
  });

  test('answers and stops while the collector is away or refuses, and tells of one that refuses', async () => {
    using refusing = new Collector(() => new Response('no', { status: 400 }));
    const away = `http://127.0.0.1:${freePort()}`;
    const run = async (url: string): Promise<string> => {
      using folder = new TempFolder();
      const settings = { KEYSTILE_OTLP_ENDPOINT: url, KEYSTILE_OTLP_TRACE_RATIO: '1', KEYSTILE_OTLP_INTERVAL: '1s' };
      await using server = await Server.start(folder, { settings });
      const { key } = await server.createKey({ remaining: 2 });
      for (const code of ['VALID', 'VALID', 'USAGE_EXCEEDED']) expect(await server.verify(key)).toMatchObject({ code });
      expect(await server.stop()).toBe(0);
      return server.child.stderr;
    };
    const [told] = await Promise.all([run(refusing.url), run(away)]);
    expect(told).toContain('traces cannot be sent to the collector and are dropped');
  });
});

test('a service without a collector loads nothing of OpenTelemetry', async () => {
  using folder = new TempFolder();
  const list = folder.join('modules');
  const preload = join(PROJECT, 'test/process/cli/loadedModules.ts');
  const loadedBy = async (settings: Record<string, string>): Promise<boolean> => {
    const command = [process.execPath, '--preload', preload, join(PROJECT, 'src/main.ts'), 'serve'];
    await using server = await Server.start(folder, { command, settings: { LOADED_MODULES: list, ...settings } });
    await server.createKey({});
    expect(await server.stop()).toBe(0);
    const modules = readFileSync(list, 'utf8');
    expect(modules).toContain('src/serve/serve.ts');
    return /@opentelemetry|src\/telemetry/.test(modules);
  };
  expect(await loadedBy({})).toBe(false);
  using collector = new Collector();
  expect(await loadedBy({ KEYSTILE_OTLP_ENDPOINT: collector.url })).toBe(true);
});
