import { describe, expect, test } from 'bun:test';

import { CountColumns } from '../../src/core/verificationCounts.ts';
import { packCounts } from '../../src/storage/sql/analytics/packedCounts.ts';
import { verificationCount, verdictCounts as counts } from '../postgres/conformance/samples.ts';

const { minuteMs } = verificationCount();

describe('counts by list', () => {
  test('are the counts that were added, in their order, whatever is told of some of them only', () => {
    const added = [
      verificationCount({ keyId: 'key_1', lastAtMs: minuteMs + 5 }),
      verificationCount({ keyId: '', apiId: 'api_2', counts: counts(0, 7) }),
      verificationCount({ keyId: 'key_2', tags: '["a"]', minuteMs: minuteMs + 60_000, lastAtMs: minuteMs + 60_001 }),
      verificationCount({
        keyId: 'key_3',
        identityId: 'id_1',
        apiId: 'api_2',
        counts: counts(2 ** 51, 0, 1),
        credits: 2 ** 52,
      }),
      // Of another year than the first, before and behind it.
      verificationCount({ keyId: 'key_4', minuteMs: 0, lastAtMs: 59_999 }),
      verificationCount({
        keyId: 'key_5',
        minuteMs: minuteMs + 2 ** 40 * 60_000,
        lastAtMs: minuteMs + 2 ** 40 * 60_000,
      }),
      verificationCount({ keyId: 'key_1' }),
    ];
    const columns = CountColumns.of(added);
    expect(columns.length).toBe(added.length);
    expect(columns.lists().apis).toEqual(['api_1', 'api_2']);
    expect(columns.rows()).toEqual(added);
    // Looking changes nothing.
    expect(columns.rows()).toEqual(added);
  });

  test('what was only valid is the same as a count of it', () => {
    const columns = new CountColumns();
    const first = { minuteMs, count: 3, credits: 15, lastAtMs: minuteMs + 9 };
    columns.addValid({ apiId: 'api_1', keyId: 'key_1', identityId: '' }, first);
    columns.add(verificationCount({ keyId: 'key_2', counts: counts(0, 1) }));
    const later = { minuteMs: minuteMs + 60_000, count: 4, credits: 0, lastAtMs: minuteMs + 60_000 };
    columns.addValid({ apiId: 'api_2', keyId: 'key_3', identityId: '' }, later);
    expect(columns.rows()).toEqual([
      verificationCount({ keyId: 'key_1', counts: counts(3), credits: 15, lastAtMs: minuteMs + 9 }),
      verificationCount({ keyId: 'key_2', counts: counts(0, 1) }),
      verificationCount({
        apiId: 'api_2',
        keyId: 'key_3',
        counts: counts(4),
        minuteMs: minuteMs + 60_000,
        lastAtMs: minuteMs + 60_000,
      }),
    ]);
  });

  test('are written without what is nothing for all of them', () => {
    const columns = new CountColumns();
    for (const keyId of ['key_1', 'key_2'])
      columns.addValid(
        { apiId: 'api_1', keyId, identityId: '' },
        { minuteMs, count: 2, credits: 0, lastAtMs: minuteMs + 7 },
      );
    expect(JSON.parse(packCounts(columns))).toEqual({
      from_ms: minuteMs,
      apis: ['api_1'],
      key_id: ['key_1', 'key_2'],
      last_at_ms: [7, 7],
      valid: [2, 2],
    });
    expect(new CountColumns().rows()).toEqual([]);
  });
});
