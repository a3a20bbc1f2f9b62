import { describe, expect, test } from 'bun:test';

import { countOf, Histogram, quantileOf, readingSince } from '../../../src/http/answer/metrics.ts';

function filled(...values: number[]): Histogram {
  const histogram = new Histogram([1, 2, 4]);
  for (const value of values) histogram.add(value);
  return histogram;
}

describe('quantiles of a histogram', () => {
  test('lie between the bounds of the values, in proportion', () => {
    const reading = filled(0.5, 0.5, 1.5, 1.5).read();
    expect([0.25, 0.5, 0.75, 1].map((part) => quantileOf(reading, part))).toEqual([0.5, 1, 1.5, 2]);
  });

  test('empty buckets are passed over, and what is larger than all bounds counts as the largest', () => {
    expect(quantileOf(filled(3, 3).read(), 0.5)).toBe(3);
    expect(quantileOf(filled(0.5, 100).read(), 0.99)).toBe(4);
  });

  test('without values there is none', () => {
    expect(quantileOf(filled().read(), 0.5)).toBeNull();
  });
});

test('the difference of two readings is what was added between them', () => {
  const histogram = filled(0.5, 3);
  const before = histogram.read();
  histogram.add(1.5);
  histogram.add(3);
  const since = readingSince(before, histogram.read());
  expect([since.counts, since.sum, countOf(since)]).toEqual([[0, 1, 1, 0], 4.5, 2]);
  expect(readingSince(null, before)).toEqual(before);
});
