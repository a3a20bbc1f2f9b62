import type { WorkStatus } from '../engine/admin/status/serviceStatus.ts';
import { countOf, quantileOf, readingSince } from '../http/answer/histogram.ts';
import type { HttpMetrics } from '../http/answer/metrics.ts';

/** Numbers are told of the last minute, in which someone has looked before. */
const SPAN_MS = 60_000;
/** How far apart two remembered readings are. */
const STEP_MS = 10_000;

type Reading = ReturnType<HttpMetrics['read']>;

interface Remembered {
  readonly atMs: number;
  /** null = the start, when nothing was counted yet. */
  readonly reading: Reading | null;
}

/**
 * What the node did lately, from the histograms of the metrics. It remembers a reading when someone looks, and later tells the difference.
 * So the first look tells of the time since the start, and those that follow of about a minute.
 */
export class RecentWork {
  readonly #metrics: HttpMetrics;
  readonly #nowMs: () => number;
  #remembered: Remembered[];

  constructor(metrics: HttpMetrics, nowMs: () => number) {
    this.#metrics = metrics;
    this.#nowMs = nowMs;
    this.#remembered = [{ atMs: nowMs(), reading: null }];
  }

  read(): WorkStatus {
    const nowMs = this.#nowMs();
    const now = this.#metrics.read();
    const since = this.#begin(nowMs);
    const verifySeconds = readingSince(since.reading?.verifySeconds ?? null, now.verifySeconds);
    const batchSizes = readingSince(since.reading?.batchSizes ?? null, now.batchSizes);
    const milliseconds = (part: number): number => toMicroseconds((quantileOf(verifySeconds, part) ?? 0) * 1000);
    const verifications = countOf(verifySeconds);
    if (nowMs - (this.#remembered.at(-1)?.atMs ?? 0) >= STEP_MS) this.#remembered.push({ atMs: nowMs, reading: now });
    return {
      sinceMs: since.atMs,
      verifications,
      latency: verifications === 0 ? null : { p50: milliseconds(0.5), p90: milliseconds(0.9), p99: milliseconds(0.99) },
      spends: batchSizes.sum,
      batches: countOf(batchSizes),
    };
  }

  /** The newest reading that is at least a minute old, or else the oldest. Older ones are forgotten. */
  #begin(nowMs: number): Remembered {
    const old = this.#remembered.findLastIndex(({ atMs }) => nowMs - atMs >= SPAN_MS);
    if (old > 0) this.#remembered = this.#remembered.slice(old);
    return this.#remembered[0] ?? { atMs: nowMs, reading: null };
  }
}

/** Milliseconds with three decimals. */
function toMicroseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}
