import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';
import type { CaseSetup } from './cases/case.ts';
import { GROUPS } from './cases/groups.ts';
import { deleteRecords, makeRecords, type Records, ABSENT } from './records.ts';
import { shownRefusal } from './shownError.ts';
import { storedIn } from './stored.ts';
import { NAMED_RECORDS, NAMING_ROUTES } from './cases/absent.ts';

/** Every request of the tables in `cases` is refused with the words in the snapshot, and stores nothing. */
let setup: CaseSetup;

beforeAll(async () => {
  const service = await TestService.start({ startsAt: '2026-03-15T12:00:00Z' });
  const [records, gone] = [await makeRecords(service, 'x'), await makeRecords(service, 'gone')];
  await deleteRecords(service, gone);
  setup = { ...records, service, gone };
});

afterAll(async () => {
  await setup.service.close();
});

describe.each(GROUPS)('refused: %s', (_group, cases) => {
  test.each(cases)('%s', async (_title, ask) => {
    const { service } = setup;
    const { path, body, options } = await ask(setup);
    const before = storedIn(service.folder);
    const answer = await service.call(path, body, options);
    const after = storedIn(service.folder);
    expect(shownRefusal(answer, body)).toMatchSnapshot();
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(after).toEqual(before);
  });
});

describe('what is close to that is taken', () => {
  let service: TestService;
  let records: Records;

  beforeAll(async () => {
    service = await TestService.start();
    records = await makeRecords(service);
  });

  afterAll(async () => {
    await service.close();
  });

  /** Requests that are taken, close to those that are refused in `cases`. */
  const LISTINGS = [
    ['apis.listKeys', 'keys', 'key', () => ({ apiId: records.apiId })],
    ['apis.listApis', 'apis', 'api', () => ({})],
    ['identities.listIdentities', 'identities', 'id', () => ({})],
    ['ratelimits.listOverrides', 'overrides', 'ovr', () => ({ namespaceId: records.namespaceId })],
  ] as const;

  describe.each(LISTINGS)('%s', (method, items, prefix, fields) => {
    test('the id of the last item of a page is one, and so is that of one that is gone', async () => {
      const page = await service.ok(`/v1/${method}`, fields());
      const last = page[items].at(-1).id as string;
      expect((await service.ok(`/v1/${method}`, { ...fields(), cursor: last }))[items]).toEqual([]);
      const gone = `${prefix}_${'1'.repeat(22)}`;
      expect((await service.ok(`/v1/${method}`, { ...fields(), cursor: gone }))[items]).toEqual(page[items]);
    });
  });

  test('audit.listEntries takes an end alone, a start alone, and a period of one millisecond', async () => {
    for (const query of [{ end: 0 }, { start: 0 }, { start: 5, end: 6 }])
      await service.ok('/v1/audit.listEntries', query);
  });

  test('decrypt: false is taken', async () => {
    const { apiId, keyId } = await service.createKey();
    await service.ok('/v1/keys.getKey', { keyId, decrypt: false });
    await service.ok('/v1/apis.listKeys', { apiId, decrypt: false });
  });

  test('the same idempotency key in the body and in the header is one', async () => {
    const { key } = await service.createKey({ remaining: 3 });
    const options = { headers: { 'idempotency-key': 'order-0001' } };
    expect((await service.verify(key, { idempotencyKey: 'order-0001' }, options)).remaining).toBe(2);
    expect((await service.verify(key, {}, options)).remaining).toBe(2);
  });
});

test('a 404 is documented for every route that names a record', () => {
  const undocumented = NAMING_ROUTES.filter(({ errors }) => !errors.includes('NOT_FOUND'));
  expect(undocumented.map(({ path }) => path)).toEqual([]);
});

test('records of every kind are named by some route', () => {
  expect([...NAMED_RECORDS].toSorted()).toEqual((Object.keys(ABSENT) as (keyof Records)[]).toSorted());
});

test('every call that a quota can refuse has a 412 in /openapi.json', async () => {
  const service = await TestService.start();
  const { body } = await service.call('/openapi.json', undefined, { method: 'GET' });
  await service.close();
  const methods = ['apis.createApi', 'keys.createKey', 'keys.restoreKey', 'migrations.createKeys'];
  for (const method of methods) {
    const { responses } = body.paths[`/v1/${method}`].post;
    expect([method, Object.keys(responses)]).toEqual([method, expect.arrayContaining(['412'])]);
    const name = responses['412'].$ref.replace('#/components/responses/', '');
    expect(body.components.responses[name].description).toContain('a maximum or quota is reached');
  }
});
