import { expect, test } from 'bun:test';

import { MAX_TAG_LENGTH, MAX_TAG_LIST_BYTES } from '../../../../src/core/bounds.ts';
import { BLANK_IDENTITY } from '../../../../src/model/identities.ts';
import { CountColumns } from '../../../../src/core/verificationCounts.ts';
import type { VerdictCode } from '../../../../src/core/verdictCodes.ts';
import type { KeyEntry } from '../../../../src/engine/cache/entries.ts';
import { EARNED_BYTES, TagLists } from '../../../../src/engine/analytics/tagLists.ts';
import { OpenCounts } from '../../../../src/engine/analytics/openCounts.ts';
import { CountWriting, SLICE } from '../../../../src/engine/analytics/writeCounts.ts';
import { QUESTION } from '../../../support/analytics.ts';
import { CachedKeys } from '../../../support/cachedKeys.ts';
import { describePort, type Setup } from '../adapters.ts';
import { verificationCount } from '../samples.ts';

/** What docs/analytics.md promises: bytes on disk for each verification, whatever its tags are. */
const MAX_BYTES_PER_VERIFICATION = 10_240;
const VERIFICATIONS = 4_000;
const APIS = 4;
/** Each verification may have a list of its own. */
const MAX_LISTS = VERIFICATIONS / APIS;

/** Texts that do not compress, the same in each run. */
class Letters {
  #state = 1;

  /** Tags that are a list of so many bytes, as JSON. */
  list(bytes: number): string[] {
    const tags: string[] = [];
    // Each has its quotes and a comma or bracket.
    for (let left = bytes - 1; left > 0; left -= MAX_TAG_LENGTH + 3) {
      tags.push(this.#text(Math.min(MAX_TAG_LENGTH, left - 3)));
    }
    return tags;
  }

  /** Three bytes each. */
  wideList(bytes: number): string[] {
    return [this.#text((bytes - 4) / 3, 0x4e00, 20_000)];
  }

  #text(length: number, from = 0x3f, count = 0x1c): string {
    return Array.from({ length }, () => String.fromCharCode(from + this.#next(count))).join('');
  }

  #next(count: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return (this.#state >>> 12) % count;
  }
}

const cached = new CachedKeys();

function keyOf(number: number): KeyEntry {
  const apiId = `api_${String(number % APIS).padStart(22, '0')}`;
  const id = `key_${Bun.SHA256.hash(String(number), 'hex').slice(0, 22)}`;
  const identity = { ...BLANK_IDENTITY, id: `id_${String(number).padStart(22, '0')}`, externalId: id };
  return cached.add({ id, apiId }, identity);
}

interface Ask {
  readonly key: KeyEntry;
  readonly tags: readonly string[] | null;
  readonly code?: VerdictCode;
}

/** Counts so many verifications as a node does, and answers how many bytes the data has grown for each. */
async function bytesEach(setup: Setup, ask: (n: number) => Ask): Promise<number> {
  const { storage, clock } = setup;
  const openCounts = new OpenCounts(new CachedKeys().keys, clock.nowMs, new TagLists(MAX_LISTS));
  const writing = new CountWriting({
    openCounts,
    analytics: storage.analytics,
    records: storage.records,
    sliceSize: SLICE,
    retention: { minute: 1, hour: 1, day: 1 },
  });
  const before = await setup.bytesOnDisk();
  for (let n = 0; n < VERIFICATIONS; n++) {
    const { key, tags, code = 'VALID' } = ask(n);
    const verdict = { code, key, remaining: null, creditsTaken: 0, limits: null, replayed: false, atMs: clock.nowMs() };
    openCounts.count({ ...QUESTION, tags }, verdict);
    if (n % 500 === 499) {
      clock.advance(4_000);
      await writing.flush();
    }
    if (n % 2_000 === 1_999) await writing.fold();
  }
  await writing.flush();
  await writing.fold();
  return ((await setup.bytesOnDisk()) - before) / VERIFICATIONS;
}

describePort('bytes on disk for each verification', (setup) => {
  const letters = new Letters();
  const repeated = Array.from({ length: 500 }, () => letters.list(700));

  test.each<[string, (n: number) => Ask]>([
    [
      'a new list each time, as long as a verification pays for',
      (n) => ({ key: keyOf(n), tags: letters.list(EARNED_BYTES) }),
    ],
    ['a new list each time, as long as a page holds several of', (n) => ({ key: keyOf(n), tags: letters.list(799) })],
    ['ten tags of the greatest length each time', (n) => ({ key: keyOf(n), tags: letters.list(1_311) })],
    ['the longest list there is each time', (n) => ({ key: keyOf(n), tags: letters.wideList(MAX_TAG_LIST_BYTES - 2) })],
    ['long lists that come again in each flush', (n) => ({ key: keyOf(n % 500), tags: repeated[n % 500] ?? null })],
    [
      'valid and refused ones, by turns, of one key',
      (n) => ({ key: keyOf(0), tags: letters.list(1_311), code: n % 2 === 0 ? 'VALID' : 'DISABLED' }),
    ],
  ])('are bounded: %s', async (_, ask) => {
    expect(await bytesEach(setup(), ask)).toBeLessThanOrEqual(MAX_BYTES_PER_VERIFICATION);
  });

  test('are next to nothing for a key that is refused, whatever its tags are', async () => {
    const disabled = keyOf(0);
    const bytes = await bytesEach(setup(), () => ({ key: disabled, tags: letters.list(1_311), code: 'DISABLED' }));
    expect(bytes).toBeLessThanOrEqual(100);
  });
});

describePort('tag lists of a day', (setup) => {
  test('are told of one api, as many as are asked for, once they are in the sums', async () => {
    const { analytics } = setup().storage;
    const day = verificationCount().minuteMs;
    await analytics.add(
      CountColumns.of([
        ...['["a"]', '["b"]', '["c"]', ''].map((tags) => verificationCount({ tags })),
        verificationCount({ tags: '["d"]', minuteMs: day + 86_400_000 }),
        verificationCount({ tags: '["e"]', apiId: 'api_2' }),
      ]),
      1,
    );
    while (!(await analytics.fold()));
    expect((await analytics.tagLists('api_1', day, 100)).toSorted()).toEqual(['["a"]', '["b"]', '["c"]']);
    expect((await analytics.tagLists('api_1', day, 2)).length).toBe(2);
    expect(await analytics.tagLists('api_3', day, 100)).toEqual([]);
  });
});
