import { AlwaysOnSampler, InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { describe, expect, test } from 'bun:test';

import { Spans } from '../../src/telemetry/telemetry.ts';

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
