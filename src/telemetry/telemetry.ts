import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { AlwaysOnSampler, BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';

import type { Family } from '../http/answer/families.ts';
import type { Tracer } from '../http/answer/tracer.ts';
import type { Log } from '../log.ts';
import { FamilyProducer } from './familyProducer.ts';
import { Spans } from './spans.ts';
import { CollectorWatch, watched } from './watchedExport.ts';

/** Spans that wait for the collector. Further ones are dropped. */
const MAX_WAITING_SPANS = 2048;
const MAX_SPANS_IN_EXPORT = 512;
const SPANS_EVERY_MS = 5_000;
/** A collector has this long for one export. */
const EXPORT_MAX_MS = 10_000;
/** A stop waits no longer than this for the collector. */
const STOP_MAX_MS = 2_000;

export interface TelemetryOptions {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  readonly intervalMs: number;
  /** The part of verifications that are traced. */
  readonly traceRatio: number;
  readonly version: string;
  /** Another one for each process. */
  readonly instance: string;
  readonly location: string;
  readonly log: Log;
  readonly nowMs: () => number;
  /** Resolves after so many milliseconds. */
  readonly rest: (milliseconds: number) => Promise<void>;
}

/** Sends traces and metrics to a collector of OpenTelemetry. Nothing of the service waits for it. */
export class Telemetry {
  readonly tracer: Tracer;
  readonly #options: TelemetryOptions;
  readonly #watch: CollectorWatch;
  readonly #traces: TracerProvider;
  readonly #startedAtMs: number;
  #metrics: MeterProvider | null = null;

  constructor(options: TelemetryOptions) {
    this.#options = options;
    this.#startedAtMs = options.nowMs();
    this.#watch = new CollectorWatch(options.endpoint, options.log);
    const exporter = watched(new OTLPTraceExporter(this.#exportTo('v1/traces')), 'traces', this.#watch);
    this.#traces = new TracerProvider({
      resource: this.#resource(),
      // What is traced is decided before a span begins.
      sampler: new AlwaysOnSampler(),
      spanProcessors: [
        new BatchSpanProcessor({
          exporter,
          maxQueueSize: MAX_WAITING_SPANS,
          maxExportBatchSize: MAX_SPANS_IN_EXPORT,
          scheduledDelayMillis: SPANS_EVERY_MS,
          exportTimeoutMillis: EXPORT_MAX_MS,
        }),
      ],
    });
    this.tracer = new Spans(this.#traces.getTracer('keystile', options.version), options.traceRatio);
  }

  /** Begins to send what `read` answers, from time to time. */
  sendMetrics(read: () => Promise<readonly Family[]>): void {
    const { nowMs, version, intervalMs } = this.#options;
    const exporter = watched(new OTLPMetricExporter(this.#exportTo('v1/metrics')), 'metrics', this.#watch);
    const reader = new PeriodicExportingMetricReader({
      exporter,
      exportIntervalMillis: intervalMs,
      exportTimeoutMillis: Math.min(EXPORT_MAX_MS, intervalMs),
      metricProducers: [new FamilyProducer({ read, nowMs, version, startedAtMs: this.#startedAtMs })],
    });
    this.#metrics = new MeterProvider({ resource: this.#resource(), readers: [reader] });
  }

  /** Sends what is left, unless the collector takes too long. */
  async stop(): Promise<void> {
    const { rest } = this.#options;
    const ended = Promise.allSettled([this.#traces.shutdown(), this.#metrics?.shutdown()]);
    await Promise.race([ended, rest(STOP_MAX_MS)]);
  }

  #exportTo(path: string): { url: string; headers: Record<string, string>; timeoutMillis: number } {
    const { endpoint, headers } = this.#options;
    return { url: `${endpoint}/${path}`, headers: { ...headers }, timeoutMillis: EXPORT_MAX_MS };
  }

  #resource(): ReturnType<typeof resourceFromAttributes> {
    const { serviceName, version, instance, location } = this.#options;
    return resourceFromAttributes({
      'service.name': serviceName,
      'service.version': version,
      'service.instance.id': instance,
      'keystile.location': location,
    });
  }
}
