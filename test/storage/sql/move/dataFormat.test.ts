import { expect, test } from 'bun:test';

import { ID_RANDOM_BYTES, makeId } from '../../../../src/core/ids.ts';
import { readHeader, readRows } from '../../../../src/storage/sql/move/dataFormat.ts';

/** Lines of an export of format 1. */
const HEADER = `{"keystile":"data","format":1,"version":"0.1.0","schema":2,"installation":"${makeId('ws', 1, new Uint8Array(ID_RANDOM_BYTES))}","exportId":"${makeId('export', 1, new Uint8Array(ID_RANDOM_BYTES))}","takenAt":1,"engine":"postgres","move":true,"tables":["key_counts","api_counts","count_log"]}`;
const COUNTS =
  '"valid":4,"not_found":0,"forbidden":0,"disabled":0,"expired":0,"insufficient_permissions":0,"rate_limited":2,"usage_exceeded":0,"credits":9';

test('an export of format 1 is read: each count becomes a row with the number of its code', () => {
  const { tables } = readHeader('FILE', HEADER, { sqlite: 1, postgres: 3 });
  expect(tables).toEqual(['key_counts', 'api_counts', 'count_log']);
  const key = { span: 1, time_ms: 3, api_id: 'api_1', key_id: 'key_1', identity_id: '', tags: '' };
  const api = { span: 1, time_ms: 3, api_id: 'api_1', tags: '' };
  const log = { minute_ms: 3, api_id: 'api_1', key_id: 'key_1', identity_id: '', tags: '', last_at_ms: 5 };
  for (const [from, into, row] of [
    ['key_counts', 'key_verdicts', key],
    ['api_counts', 'api_verdicts', api],
    ['count_log', 'verdict_log', log],
  ] as const) {
    const read = readRows(`["${from}",{${JSON.stringify(row).slice(1, -1)},${COUNTS}}]`);
    expect(read).toMatchObject({
      from,
      table: { name: into },
      rows: [
        { ...row, code: 0, count: 4, credits: 9 },
        { ...row, code: 6, count: 2, credits: 0 },
      ],
    });
  }
  expect(
    readRows(`["api_counts",{"span":1,"time_ms":3,"api_id":"api_1","tags":"",${COUNTS.replace('"valid":4,', '')}}]`),
  ).toBe('the column valid of api_counts is missing');
});
