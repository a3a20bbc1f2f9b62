import { expect, test } from 'bun:test';
import * as fc from 'fast-check';

import { VERDICT_CODES, type VerdictCode } from '../../../src/core/verdictCodes.ts';
import type { KeyEntry } from '../../../src/engine/cache/entries.ts';
import { MAX_PACKED_COST } from '../../../src/engine/cache/keyCounts.ts';
import { addTo, digestOf, type Fate, AnalyticsSetup } from '../../support/analytics.ts';

const seed = Number(process.env['KEYSTILE_TEST_SEED'] ?? 1);

const KEYS = 6;

type Step =
  | {
      readonly verify: number;
      readonly code: VerdictCode;
      readonly tags: readonly string[] | null;
      /** What it takes when it is valid. */
      readonly cost: number;
      readonly late: boolean;
    }
  | { readonly ask: string }
  | { readonly advance: number }
  | { readonly drop: number }
  | { readonly change: 'dropOldest' | 'dropApi' | 'clear' | 'repack' }
  | { readonly take: number }
  | { readonly flush: readonly Fate[] };

const numbers = fc.nat({ max: 2 * KEYS - 1 });
const outcomes = fc.oneof(
  { weight: 5, arbitrary: fc.constant('VALID' as const) },
  { weight: 1, arbitrary: fc.constantFrom(...VERDICT_CODES) },
);
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.record({
      verify: numbers,
      code: outcomes,
      tags: fc.oneof(
        { weight: 4, arbitrary: fc.constant(null) },
        { weight: 1, arbitrary: fc.constantFrom(['a'], ['a', 'b']) },
      ),
      cost: fc.oneof(
        { weight: 3, arbitrary: fc.constant(0) },
        { weight: 3, arbitrary: fc.constant(1) },
        { weight: 1, arbitrary: fc.constantFrom(2, MAX_PACKED_COST, MAX_PACKED_COST + 1, Number.MAX_SAFE_INTEGER) },
      ),
      late: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ ask: fc.constantFrom('api_1', 'api_2', 'api_none') }) },
  { weight: 4, arbitrary: fc.record({ advance: fc.constantFrom(1, 999, 30_000, 60_000, 3_600_000, -1, -60_000) }) },
  { weight: 3, arbitrary: fc.record({ drop: numbers }) },
  { weight: 2, arbitrary: fc.record({ change: fc.constantFrom('dropOldest', 'dropApi', 'clear', 'repack') }) },
  { weight: 2, arbitrary: fc.record({ take: fc.nat({ max: 4 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      flush: fc.array(fc.constantFrom<Fate>('added', 'refused', 'added in silence', 'lost'), { maxLength: 2 }),
    }),
  },
);

/** Does the steps, and counts beside them in the plainest way. */
class Run {
  readonly setup = new AnalyticsSetup(3);
  readonly happened = new Map<string, number[]>();
  /** Lists of tags that a valid verification had, by api, on the day that runs. */
  readonly #lists = new Set<string>();
  #day = 0;
  /** As they were when they were last seen: verdicts may be late. */
  readonly #seen = new Map<number, KeyEntry>();

  async do(step: Step): Promise<void> {
    const { setup } = this;
    if ('verify' in step) this.#verify(step);
    else if ('ask' in step) this.#ask(step.ask);
    else if ('advance' in step) setup.clock.advance(step.advance);
    else if ('drop' in step) this.#drop(step.drop);
    else if ('take' in step) await this.#flushSome(step.take);
    else if ('flush' in step) {
      setup.analytics.fates = [...step.flush];
      await setup.writing.flush().catch(() => {});
    } else this.#change(step.change);
  }

  /** Some fit into their rows; the others have a side, every third one of them an identity. */
  #key(number: number): KeyEntry {
    const { packed } = this.setup;
    const cached = packed.get(digestOf(number));
    if (cached !== undefined) return cached;
    return number < KEYS ? this.setup.pack(number) : this.setup.keep(number, number % 3 === 0 ? 'id_1' : null);
  }

  #verify({ verify, code, tags, cost, late }: Extract<Step, { verify: number }>): void {
    const key = (late ? this.#seen.get(verify) : undefined) ?? this.#key(verify);
    this.#seen.set(verify, key);
    const credits = code === 'VALID' ? cost : 0;
    this.setup.verify(key, { code, tags, creditsTaken: credits });
    const counted = tags === null ? null : this.#tagsOf(key.apiId, code, tags);
    this.#note(key.apiId, code, { keyId: key.id, identityId: key.identity?.id ?? '', tags: counted }, credits);
  }

  /** Under its own tags only once a valid one had them. A day that the clock comes back to begins anew. */
  #tagsOf(apiId: string, code: VerdictCode, tags: readonly string[]): readonly string[] {
    const day = Math.floor(this.setup.clock.nowMs() / 86_400_000);
    if (day !== this.#day) this.#lists.clear();
    this.#day = day;
    const list = JSON.stringify([apiId, tags]);
    if (code === 'VALID') this.#lists.add(list);
    return this.#lists.has(list) ? tags : ['other'];
  }

  #ask(apiId: string): void {
    this.setup.verify(null, { apiId });
    if (apiId !== 'api_none') this.#note(apiId, 'NOT_FOUND', { keyId: '', identityId: '', tags: null });
  }

  #note(
    apiId: string,
    code: VerdictCode,
    { keyId, identityId, tags }: { keyId: string; identityId: string; tags: readonly string[] | null },
    credits = 0,
  ): void {
    const minuteMs = Math.floor(this.setup.clock.nowMs() / 60_000) * 60_000;
    const counts = VERDICT_CODES.map((each) => (each === code ? 1 : 0));
    addTo(this.happened, {
      minuteMs,
      apiId,
      keyId,
      identityId,
      tags: tags === null ? '' : JSON.stringify(tags),
      counts,
      credits,
    });
  }

  #drop(number: number): void {
    this.setup.packed.delete(digestOf(number));
  }

  #change(change: 'dropOldest' | 'dropApi' | 'clear' | 'repack'): void {
    const { packed } = this.setup;
    if (change === 'dropOldest') packed.dropOldest();
    else if (change === 'dropApi') packed.dropApi('api_1');
    else if (change === 'clear') packed.clear();
    else {
      for (let number = 1_000; number < 2_100; number++) this.setup.pack(number);
      for (let number = 1_000; number < 2_100; number++) packed.delete(digestOf(number));
    }
  }

  /** A flush that does not get to its end: some slices only. */
  async #flushSome(slices: number): Promise<void> {
    let left = slices;
    const stopped = new Error('stopped');
    const pause = async (): Promise<void> => {
      if (left-- <= 0) throw stopped;
    };
    await this.setup.writing.flush(pause).catch(() => {});
  }
}

test('what is written down is what happened, whatever is dropped, packed anew, refused or unknown on the way', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { maxLength: 200, size: 'max' }), async (sequence) => {
      const run = new Run();
      for (const step of sequence) await run.do(step);
      run.setup.analytics.fates = [];
      await run.setup.writing.flush();
      const sorted = (sums: Map<string, number[]>) => [...sums].sort(([a], [b]) => (a < b ? -1 : 1));
      expect(sorted(run.setup.analytics.sums)).toEqual(sorted(run.happened));
      const { batches } = run.setup.analytics;
      expect(batches.every(({ batch }, i) => i === 0 || batch >= (batches[i - 1]?.batch ?? 0))).toBe(true);
    }),
    { seed, numRuns: 300 },
  );
});
