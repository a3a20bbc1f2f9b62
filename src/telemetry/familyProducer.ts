import { type HrTime, ValueType } from '@opentelemetry/api';
import { millisToHrTime } from '@opentelemetry/core';
import { emptyResource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type CollectionResult,
  DataPointType,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';

import type { Family } from '../http/answer/families.ts';

export interface ProducerContext {
  readonly read: () => Promise<readonly Family[]>;
  readonly startedAtMs: number;
  readonly nowMs: () => number;
  readonly version: string;
}

/** Gives OpenTelemetry the same metrics that Prometheus reads, under the same names, when they are to be sent. */
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
      // The reader puts its own resource in its place.
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
    // JSON has no NaN: a value that is not there yet is left out.
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
