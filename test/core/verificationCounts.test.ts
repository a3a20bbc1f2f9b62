import { describe, expect, test } from 'bun:test';

import { TallyLists } from '../../src/core/verificationCounts.ts';
import { packTallies } from '../../src/storage/sql/analytics/packedCounts.ts';
import { tally, tallyCounts as counts } from '../postgres/conformance/samples.ts';

const { minuteMs } = tally();

describe('tallies by list', () => {
  test('are the tallies that were added, in their order, whatever is told of some of them only', () => {
    const tallies = [
      tally({ keyId: 'key_1', lastAtMs: minuteMs + 5 }),
      tally({ keyId: '', apiId: 'api_2', counts: counts(0, 7) }),
      tally({ keyId: 'key_2', tags: '["a"]', minuteMs: minuteMs + 60_000, lastAtMs: minuteMs + 60_001 }),
      tally({ keyId: 'key_3', identityId: 'id_1', apiId: 'api_2', counts: counts(2 ** 51, 0, 1) }),
      // Of another year than the first, before and behind it.
      tally({ keyId: 'key_4', minuteMs: 0, lastAtMs: 59_999 }),
      tally({ keyId: 'key_5', minuteMs: minuteMs + 2 ** 40 * 60_000, lastAtMs: minuteMs + 2 ** 40 * 60_000 }),
      tally({ keyId: 'key_1' }),
    ];
    const lists = TallyLists.of(tallies);
    expect(lists.length).toBe(tallies.length);
    expect(lists.columns().apis).toEqual(['api_1', 'api_2']);
    expect(lists.tallies()).toEqual(tallies);
    // Looking changes nothing.
    expect(lists.tallies()).toEqual(tallies);
  });

  test('what was only valid is the same as a tally of it', () => {
    const lists = new TallyLists();
    lists.addValid(minuteMs, 'api_1', 'key_1', 3, minuteMs + 9);
    lists.add(tally({ keyId: 'key_2', counts: counts(0, 1) }));
    lists.addValid(minuteMs + 60_000, 'api_2', 'key_3', 4, minuteMs + 60_000);
    expect(lists.tallies()).toEqual([
      tally({ keyId: 'key_1', counts: counts(3), lastAtMs: minuteMs + 9 }),
      tally({ keyId: 'key_2', counts: counts(0, 1) }),
      tally({
        apiId: 'api_2',
        keyId: 'key_3',
        counts: counts(4),
        minuteMs: minuteMs + 60_000,
        lastAtMs: minuteMs + 60_000,
      }),
    ]);
  });

  test('are written without what is nothing for all of them', () => {
    const lists = new TallyLists();
    for (const keyId of ['key_1', 'key_2']) lists.addValid(minuteMs, 'api_1', keyId, 2, minuteMs + 7);
    expect(JSON.parse(packTallies(lists))).toEqual({
      from_ms: minuteMs,
      apis: ['api_1'],
      key_id: ['key_1', 'key_2'],
      last_at_ms: [7, 7],
      valid: [2, 2],
    });
    expect(new TallyLists().tallies()).toEqual([]);
  });
});
