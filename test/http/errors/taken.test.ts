import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';
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
