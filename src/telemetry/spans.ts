import { type Context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags } from '@opentelemetry/api';
import type { Tracer as OtelTracer, Span } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';

import type { CallSpan, ManagementCall, TraceHeaders, Tracer } from '../http/answer/tracer.ts';

const TRACE_HEADERS = ['traceparent', 'tracestate'];
/** A longer one is not a trace of a sound caller, and would be kept with the span. */
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

/** Spans of OpenTelemetry: one for each management call, and for every so many verifications. */
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
      // Only what the service itself did wrong is an error of its span: a refused request is not.
      if ((status ?? 0) >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}
