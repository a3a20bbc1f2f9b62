import {
  type Context,
  type HrTime,
  type Tracer as OtelTracer,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  ValueType,
} from '@opentelemetry/api';
import { type ExportResult, ExportResultCode, millisToHrTime, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { emptyResource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type CollectionResult,
  DataPointType,
  MeterProvider,
  type MetricData,
  type MetricProducer,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { AlwaysOnSampler, BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';

import type { Family } from '../http/answer/metrics.ts';
import type { CallSpan, ManagementCall, TraceHeaders, Tracer } from '../http/answer/tracer.ts';
import type { Log } from '../log.ts';

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
  /** The share of verifications that are traced. */
  readonly traceRatio: number;
  readonly version: string;
  /** Different in each process. */
  readonly instance: string;
  readonly location: string;
  readonly log: Log;
  readonly nowMs: () => number;
  /** Resolves after so many milliseconds. */
  readonly rest: (milliseconds: number) => Promise<void>;
}

/** Sends traces and metrics to an OpenTelemetry collector. Nothing in the service waits for it, except a stop for STOP_MAX_MS. */
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
      // `Spans` decides what is traced before a span begins.
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

  /** Begins to send the metrics that `read` returns, at each interval. */
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

export interface ProducerContext {
  readonly read: () => Promise<readonly Family[]>;
  readonly startedAtMs: number;
  readonly nowMs: () => number;
  readonly version: string;
}

/** Gives OpenTelemetry the metrics that Prometheus reads, under the same names. */
export class FamilyProducer implements MetricProducer {
  readonly #context: ProducerContext;

  constructor(context: ProducerContext) {
    this.#context = context;
  }

  async collect(): Promise<CollectionResult> {
    const { read, startedAtMs, nowMs, version } = this.#context;
    const families = await read();
    const startTime = millisToHrTime(startedAtMs);
    const endTime = millisToHrTime(nowMs());
    const metrics = families.map((family) => toMetric(family, startTime, endTime));
    return {
      // The reader replaces this by its own resource.
      resourceMetrics: { resource: emptyResource(), scopeMetrics: [{ scope: { name: 'keystile', version }, metrics }] },
      errors: [],
    };
  }
}

function toMetric(family: Family, startTime: HrTime, endTime: HrTime): MetricData {
  const { name, help: description } = family;
  const descriptor = { name, description, unit: unitOf(name), valueType: ValueType.DOUBLE };
  const aggregationTemporality = AggregationTemporality.CUMULATIVE;
  const times = { startTime, endTime };
  if (family.type === 'histogram') {
    const { bounds, counts, sum } = family.reading;
    const value = {
      buckets: { boundaries: [...bounds], counts: [...counts] },
      sum,
      count: counts.reduce((total, count) => total + count, 0),
    };
    const dataPoints = [{ ...times, attributes: {}, value }];
    return { descriptor, aggregationTemporality, dataPointType: DataPointType.HISTOGRAM, dataPoints };
  }
  const dataPoints = family.samples
    // JSON has no NaN, so a value that is not known yet is left out.
    .filter(({ value }) => Number.isFinite(value))
    .map(({ labels, value }) => ({ ...times, attributes: { ...labels }, value }));
  return family.type === 'counter'
    ? { descriptor, aggregationTemporality, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
    : { descriptor, aggregationTemporality, dataPointType: DataPointType.GAUGE, dataPoints };
}

/** In the code of UCUM, which OpenTelemetry uses. */
function unitOf(name: string): string {
  if (/_seconds(?:_total)?$/.test(name)) return 's';
  return name.endsWith('_bytes') ? 'By' : '1';
}

const TRACE_HEADERS = ['traceparent', 'tracestate'];
/** A longer header does not come from a correct caller, and would be kept with the span. */
const MAX_HEADER_LENGTH = 512;

const propagator = new W3CTraceContextPropagator();
const reader = {
  keys: () => TRACE_HEADERS,
  get(headers: TraceHeaders, name: string): string | undefined {
    const value = headers.get(name);
    return value === null || value.length > MAX_HEADER_LENGTH ? undefined : value;
  },
};

/** The trace of the caller, or a new one. null = the caller does not record its trace. */
function contextOf(headers: TraceHeaders): Context | null {
  const context = propagator.extract(ROOT_CONTEXT, headers, reader);
  const parent = trace.getSpanContext(context);
  return parent !== undefined && (parent.traceFlags & TraceFlags.SAMPLED) === 0 ? null : context;
}

/** Makes OpenTelemetry spans: one for each management call, and one for a share of verifications. */
export class Spans implements Tracer {
  readonly #tracer: OtelTracer;
  readonly #ratio: number;
  #verifications = 0;

  constructor(tracer: OtelTracer, ratio: number) {
    this.#tracer = tracer;
    this.#ratio = ratio;
  }

  call({ method, path, requestId }: ManagementCall, headers: TraceHeaders): CallSpan | null {
    const attributes = { 'http.request.method': method, 'http.route': path, 'keystile.request_id': requestId };
    return this.#start(`${method} ${path}`, headers, attributes);
  }

  verification(headers: TraceHeaders): CallSpan | null {
    const before = Math.floor(this.#verifications * this.#ratio);
    this.#verifications++;
    // Evenly spread, and cheap: every hundredth with a ratio of 0.01.
    if (Math.floor(this.#verifications * this.#ratio) === before) return null;
    return this.#start('verify', headers, {});
  }

  #start(name: string, headers: TraceHeaders, attributes: Readonly<Record<string, string>>): CallSpan | null {
    const context = contextOf(headers);
    if (context === null) return null;
    return toCallSpan(this.#tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, context));
  }
}

function toCallSpan(span: Span): CallSpan {
  return {
    end({ status, verdict, error }) {
      if (status !== undefined) span.setAttribute('http.response.status_code', status);
      if (verdict !== undefined) span.setAttribute('keystile.verdict', verdict);
      if (error !== null) span.setAttribute('error.type', error);
      // Only a failure of the service is an error of the span; a refused request is not.
      if ((status ?? 0) >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}

/** Logs when the collector begins to refuse something and when that ends, not each refusal. */
export class CollectorWatch {
  readonly #log: Log;
  readonly #endpoint: string;
  readonly #failing = new Set<string>();

  constructor(endpoint: string, log: Log) {
    this.#endpoint = endpoint;
    this.#log = log;
  }

  noted(what: string, { code, error }: ExportResult): void {
    const isFailing = code === ExportResultCode.FAILED;
    if (isFailing === this.#failing.has(what)) return;
    const collector = this.#endpoint;
    if (isFailing) {
      this.#failing.add(what);
      this.#log.warn(`${what} cannot be sent to the collector and are dropped; the service continues`, {
        collector,
        reason: error?.message ?? 'it gave no reason',
      });
    } else {
      this.#failing.delete(what);
      this.#log.info(`${what} reach the collector again`, { collector });
    }
  }
}

interface Exporter<T> {
  export(items: T, done: (result: ExportResult) => void): void;
}

/** Tells the watch how every export of this exporter ends. */
export function watched<E extends Exporter<never>>(exporter: E, what: string, watch: CollectorWatch): E {
  const send = exporter.export.bind(exporter);
  exporter.export = (items, done) =>
    send(items, (result) => {
      watch.noted(what, result);
      done(result);
    });
  return exporter;
}
