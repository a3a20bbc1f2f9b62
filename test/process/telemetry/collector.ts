interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number };
}

export interface SentSpan {
  readonly traceId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly status: { readonly code: number };
  readonly attributes: readonly Attribute[];
}

export interface SentMetric {
  readonly name: string;
  readonly unit: string;
  readonly sum?: { readonly isMonotonic: boolean; readonly dataPoints: readonly { readonly asDouble: number }[] };
  readonly gauge?: { readonly dataPoints: readonly { readonly asDouble: number }[] };
  readonly histogram?: {
    readonly dataPoints: readonly {
      readonly count: number;
      readonly explicitBounds: readonly number[];
      readonly bucketCounts: readonly number[];
    }[];
  };
}

interface Sent {
  readonly resource: { readonly attributes: readonly Attribute[] };
}

interface Traces {
  readonly resourceSpans: readonly (Sent & {
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[];
  })[];
}

interface Metrics {
  readonly resourceMetrics: readonly (Sent & {
    readonly scopeMetrics: readonly { readonly metrics: readonly SentMetric[] }[];
  })[];
}

/** Takes OTLP over HTTP as a collector does, and keeps what it gets. */
export class Collector implements Disposable {
  readonly url: string;
  readonly bodies: { readonly path: string; readonly text: string; readonly headers: Headers }[] = [];
  readonly #server: Bun.Server<undefined>;

  constructor(answer: () => Response | Promise<Response> = () => Response.json({})) {
    this.#server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        const { headers } = request;
        this.bodies.push({ path: new URL(request.url).pathname, text: await request.text(), headers });
        return answer();
      },
    });
    this.url = `http://127.0.0.1:${this.#server.port}`;
  }

  get spans(): SentSpan[] {
    return this.#sent<Traces>('/v1/traces').flatMap(({ resourceSpans }) =>
      resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    );
  }

  /** Those that came last. */
  get metrics(): SentMetric[] {
    return (
      this.#sent<Metrics>('/v1/metrics')
        .at(-1)
        ?.resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics)) ?? []
    );
  }

  get resource(): Record<string, unknown> {
    const [traces] = this.#sent<Traces>('/v1/traces');
    return valuesOf(traces?.resourceSpans[0]?.resource.attributes ?? []);
  }

  [Symbol.dispose](): void {
    void this.#server.stop(true);
  }

  #sent<T>(wanted: string): T[] {
    return this.bodies.filter(({ path }) => path === wanted).map(({ text }) => JSON.parse(text) as T);
  }
}

export function valuesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
}
