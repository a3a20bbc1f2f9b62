import type { Histogram, HistogramReading } from './histogram.ts';

type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/** One metric with all its values. Every way to read the metrics shows the same families. */
export type Family = { readonly name: string; readonly help: string } & (
  | { readonly type: 'counter' | 'gauge'; readonly samples: readonly Sample[] }
  | { readonly type: 'histogram'; readonly reading: HistogramReading }
);

export function gauge(name: string, help: string, value: number): Family {
  return { name, help, type: 'gauge', samples: [{ labels: {}, value }] };
}

export function counter(name: string, help: string, value: number): Family {
  return { name, help, type: 'counter', samples: [{ labels: {}, value }] };
}

export function histogram(name: string, help: string, values: Histogram): Family {
  return { name, help, type: 'histogram', reading: values.read() };
}

/** One value for each value of a label. */
export function labelled(label: string, values: Iterable<readonly [key: string, value: number]>): readonly Sample[] {
  return [...values].map(([key, value]) => ({ labels: { [label]: key }, value }));
}

/** The families in the text format of Prometheus. */
export function familiesText(families: readonly Family[]): string {
  return `${families.flatMap(familyLines).join('\n')}\n`;
}

function familyLines(family: Family): string[] {
  const { name, help, type } = family;
  const lines =
    family.type === 'histogram'
      ? histogramLines(name, family.reading)
      : family.samples.map(({ labels, value }) => `${name}${labelsText(labels)} ${value}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines];
}

function histogramLines(name: string, { bounds, counts, sum }: HistogramReading): string[] {
  let total = 0;
  const buckets = [...bounds, Infinity].map((bound, i) => {
    total += counts[i] ?? 0;
    return `${name}_bucket{le="${bound === Infinity ? '+Inf' : bound}"} ${total}`;
  });
  return [...buckets, `${name}_sum ${sum}`, `${name}_count ${total}`];
}

function labelsText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${quotedValue(value)}`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function quotedValue(value: string): string {
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}
