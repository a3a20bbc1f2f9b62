import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { refusedBy } from './refusal.ts';
import { makeRecords, type Records } from './records.ts';

let service: TestService;
let records: Records;

beforeAll(async () => {
  service = await TestService.start();
  records = await makeRecords(service);
});

afterAll(async () => {
  await service.close();
});

const LISTINGS = [
  ['apis.listKeys', 'keys', 'key', () => ({ apiId: records.apiId })],
  ['apis.listApis', 'apis', 'api', () => ({})],
  ['identities.listIdentities', 'identities', 'id', () => ({})],
  ['ratelimits.listOverrides', 'overrides', 'ovr', () => ({ namespaceId: records.namespaceId })],
] as const;

describe.each(LISTINGS)('%s', (method, items, prefix, fields) => {
  test('a cursor that no page ends with is a 400', async () => {
    const other = prefix === 'key' ? records.apiId : records.keyId;
    const id = '1Jm8ZtYh4mRr6GjK8uTx3S';
    const wrong = [
      'zzz',
      prefix,
      `${prefix}_`,
      `${prefix}_zzz`,
      other,
      `${prefix}_${id}x`,
      ` ${prefix}_${id}`,
      `rk_${id}`,
    ];
    for (const cursor of wrong) {
      const { status, issues } = await refusedBy(service, `/v1/${method}`, { ...fields(), cursor });
      const message = `cursor must be the cursor of an earlier page, got ${JSON.stringify(cursor)}`;
      expect([cursor, status, issues]).toEqual([cursor, 400, [{ path: 'cursor', message }]]);
    }
  });

  test('the id of the last item of a page is one, and so is that of one that is gone', async () => {
    const page = await service.ok(`/v1/${method}`, fields());
    const last = page[items].at(-1).id as string;
    expect((await service.ok(`/v1/${method}`, { ...fields(), cursor: last }))[items]).toEqual([]);
    const gone = `${prefix}_${'1'.repeat(22)}`;
    expect((await service.ok(`/v1/${method}`, { ...fields(), cursor: gone }))[items]).toEqual(page[items]);
  });
});

describe('audit.listEvents', () => {
  const message = 'end must be after start';

  test.each([
    [{ start: 5, end: 5 }, [{ path: 'end', message }]],
    [{ start: 6, end: 5 }, [{ path: 'end', message }]],
    [
      { start: 6, end: 5, cursor: 'zzz' },
      [
        { path: 'end', message },
        { path: 'cursor', message: 'cursor must be the cursor of an earlier page, got "zzz"' },
      ],
    ],
  ])('%j is a 400', async (query, issues) => {
    expect(await refusedBy(service, '/v1/audit.listEvents', query)).toMatchObject({ status: 400, issues });
  });

  test('an end alone, a start alone, and a period of one millisecond are asked', async () => {
    for (const query of [{ end: 0 }, { start: 0 }, { start: 5, end: 6 }])
      await service.ok('/v1/audit.listEvents', query);
  });
});
