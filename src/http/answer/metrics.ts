import { ERRORS } from '../../core/errors.ts';
import { VERDICT_CODES, type VerdictCode } from '../../core/verdictCodes.ts';
import { familiesText, type Family, histogram, labelled } from './families.ts';
import { gaugeFamilies, type Gauges } from './gaugeFamilies.ts';
import { Histogram, type HistogramReading } from './histogram.ts';

/** Upper bounds in seconds. */
const LATENCY_BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const MAX_STATUS = 599;
const SIZE_BUCKETS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048];

/** All metrics. No label contains a value that a caller sent. */
export class HttpMetrics {
  readonly #verdicts = Object.fromEntries(VERDICT_CODES.map((code) => [code, 0])) as Record<VerdictCode, number>;
  /** Every code is there from the beginning: Prometheus sees no increase in a series that begins with 1. */
  readonly #errors = new Map<string, number>(Object.keys(ERRORS).map((code) => [code, 0]));
  /** By status. */
  readonly #responses = new Float64Array(MAX_STATUS + 1);
  readonly #verifySeconds = new Histogram(LATENCY_BUCKETS);
  readonly #manageSeconds = new Histogram(LATENCY_BUCKETS);
  readonly #commitSeconds = new Histogram(LATENCY_BUCKETS);
  readonly #batchSizes = new Histogram(SIZE_BUCKETS);

  verified(code: VerdictCode, milliseconds: number): void {
    this.#verdicts[code]++;
    this.#verifySeconds.add(milliseconds / 1000);
  }

  managed(milliseconds: number): void {
    this.#manageSeconds.add(milliseconds / 1000);
  }

  failed(code: string): void {
    this.#errors.set(code, (this.#errors.get(code) ?? 0) + 1);
  }

  /** Called for every answer that is sent. */
  responded(status: number): void {
    this.#responses[status] = (this.#responses[status] ?? 0) + 1;
  }

  committed(batchSize: number, milliseconds: number): void {
    this.#batchSizes.add(batchSize);
    this.#commitSeconds.add(milliseconds / 1000);
  }

  /** How long verifications took, in seconds, and how large the batches of the ledger were, since the start. */
  read(): { readonly verifySeconds: HistogramReading; readonly batchSizes: HistogramReading } {
    return { verifySeconds: this.#verifySeconds.read(), batchSizes: this.#batchSizes.read() };
  }

  families(gauges: Gauges): readonly Family[] {
    const { version, location } = gauges;
    const statuses = [...this.#responses.entries()].filter(([, count]) => count > 0);
    return [
      {
        name: 'keystile_info',
        help: 'This node.',
        type: 'gauge',
        samples: [{ labels: { version, location }, value: 1 }],
      },
      {
        name: 'keystile_verdicts_total',
        help: 'Verifications by verdict.',
        type: 'counter',
        samples: labelled('code', Object.entries(this.#verdicts)),
      },
      {
        name: 'keystile_responses_total',
        help: 'Answers by HTTP status.',
        type: 'counter',
        samples: labelled(
          'status',
          statuses.map(([status, count]) => [String(status), count]),
        ),
      },
      {
        name: 'keystile_errors_total',
        help: 'Requests answered with an error, by code.',
        type: 'counter',
        samples: labelled('code', this.#errors),
      },
      histogram('keystile_verify_seconds', 'Time from a request to its verdict.', this.#verifySeconds),
      histogram('keystile_management_seconds', 'Time of management calls.', this.#manageSeconds),
      histogram('keystile_commit_seconds', 'Time of ledger commits.', this.#commitSeconds),
      histogram('keystile_batch_size', 'Spends and changes in one commit.', this.#batchSizes),
      ...gaugeFamilies(gauges),
    ];
  }

  /** In the text format of Prometheus. */
  text(gauges: Gauges): string {
    return familiesText(this.families(gauges));
  }
}
