import { type Kind, duration, publicUrl, text } from './kinds.ts';
import { secret, type Variable, variable } from './variable.ts';

const HOUR_MS = 3_600_000;

const fraction: Kind<number> = {
  label: '0 to 1',
  parse(value) {
    const number = /^(?:\d*\.)?\d{1,9}$/.test(value) ? Number(value) : NaN;
    return number <= 1 ? { value: number } : { problem: 'must be a number from 0 to 1, such as 0.01' };
  },
};

/** It is logged, so it holds no credentials, and a wrong one that may hold some is not repeated. Paths are put behind it. */
const endpoint: Kind<string> = {
  label: 'URL',
  parse(value) {
    const parsed = publicUrl.parse(value);
    if (!/[@?#]/.test(value)) return parsed;
    const problem = 'must have no user, password, query or fragment; credentials belong in KEYSTILE_OTLP_HEADERS';
    return { problem, item: '' };
  },
};

/** Names and values of headers, as OpenTelemetry writes them: values are percent-encoded. */
const headers: Kind<Readonly<Record<string, string>>> = {
  label: 'name=value, separated by commas',
  parse(value) {
    const pairs = value.split(',').map((part) => /^([\w!#$%&'*+.^`|~-]+)=([\x20-\x7e]*)$/.exec(part.trim()));
    const entries = pairs.flatMap((pair) => (pair === null ? [] : [[pair[1] ?? '', decoded(pair[2] ?? '')] as const]));
    return entries.length === pairs.length && entries.every(([, decodedValue]) => /^[\x20-\x7e]*$/.test(decodedValue))
      ? { value: Object.fromEntries(entries) }
      : { problem: 'must be name=value, separated by commas, in printable ASCII' };
  },
};

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** The settings of OpenTelemetry. */
export const TELEMETRY_VARIABLES = {
  otlpEndpoint: {
    ...variable(
      'OTLP_ENDPOINT',
      endpoint,
      null,
      'The URL of an OpenTelemetry collector that takes OTLP over HTTP, such as http://127.0.0.1:4318. The service sends traces to /v1/traces and metrics to /v1/metrics below it. Without it, nothing of OpenTelemetry is loaded.',
    ),
    standard: 'OTEL_EXPORTER_OTLP_ENDPOINT',
  },
  otlpHeaders: {
    ...secret('OTLP_HEADERS', headers, 'Headers for the collector, such as authorization=Bearer%20secret.'),
    standard: 'OTEL_EXPORTER_OTLP_HEADERS',
  },
  otlpServiceName: {
    ...variable('OTLP_SERVICE_NAME', text, 'keystile', 'The name of the service in traces and metrics.'),
    standard: 'OTEL_SERVICE_NAME',
  },
  otlpInterval: {
    ...variable('OTLP_INTERVAL', duration(1000, HOUR_MS), '60s', 'How often metrics are sent to the collector.'),
    standard: 'OTEL_METRIC_EXPORT_INTERVAL',
  },
  otlpTraceRatio: variable(
    'OTLP_TRACE_RATIO',
    fraction,
    '0.01',
    'The part of verifications that are traced. Management calls are all traced.',
  ),
} as const satisfies Record<string, Variable<unknown, string | null>>;
