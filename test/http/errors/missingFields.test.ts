import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { ROUTES } from '../../../src/http/routes/routeTable.ts';
import { TestService } from '../../support/service.ts';
import { storedIn } from './stored.ts';
import { ABSENT, deleteRecords, makeRecords, realRequest, spellings, type Records, recordsNamedBy } from './records.ts';

/** Requests that name what is not there, or not any more: made from the route table, one wrong name at a time. */

let service: TestService;
let records: Records;
let gone: Records;

beforeAll(async () => {
  service = await TestService.start();
  [records, gone] = [await makeRecords(service), await makeRecords(service)];
  await deleteRecords(service, gone);
});

afterAll(async () => {
  await service.close();
});

/** What is made when it is named for the first time. */
const MADE: Readonly<Record<string, readonly (keyof Records)[]>> = {
  '/v1/keys.createKey': ['externalId'],
  '/v1/keys.updateKey': ['externalId'],
  '/v1/migrations.createKeys': ['externalId'],
  '/v1/migrations.enqueueKeys': ['externalId', 'migrationId'],
  '/v1/ratelimits.limit': ['namespaceName', 'identifier'],
  '/v1/ratelimits.multiLimit': ['namespaceName', 'identifier'],
  '/v1/ratelimits.setOverride': ['namespaceName', 'identifier'],
};
/**
 * There is no way to delete these. A root key is revoked, and can be revoked again; what became of an import can be read also
 * when its api is gone.
 */
const LASTING: readonly (keyof Records)[] = ['namespaceId', 'namespaceName', 'rootKeyId', 'migrationId'];

const CASES = ROUTES.flatMap((route) =>
  spellings(route).flatMap((spelt) =>
    recordsNamedBy(spelt)
      .filter((name) => !MADE[route.path]?.includes(name))
      .map((name) => [`${route.path} ${JSON.stringify(spelt.example.request)}`, name, { ...route, ...spelt }] as const),
  ),
);

describe.each(CASES)('%s with a wrong %s', (_text, name, route) => {
  const { path } = route;

  const refused = async (wrong: Records): Promise<void> => {
    const before = storedIn(service.folder);
    const answer = await service.call(path, realRequest(route, { ...records, [name]: wrong[name] }));
    expect([answer.status, answer.body.error?.code]).toEqual([404, 'NOT_FOUND']);
    expect(storedIn(service.folder)).toEqual(before);
  };

  test('that never was is a 404 and changes nothing; it is documented', async () => {
    await refused(ABSENT);
    expect(route.errors).toContain('NOT_FOUND');
  });

  if (!LASTING.includes(name)) test('that was deleted is the same 404', () => refused(gone));
});

test('records of every kind are named by some route', () => {
  const named = new Set(CASES.map(([, name]) => name));
  expect([...named].toSorted()).toEqual((Object.keys(ABSENT) as (keyof Records)[]).toSorted());
});
