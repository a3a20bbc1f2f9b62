import { afterAll, beforeAll, expect, test } from 'bun:test';

import { StorageUnavailable } from '../../../src/storage/port/storage.ts';
import { TestService } from '../../support/service.ts';

let service: TestService;

beforeAll(async () => {
  service = await TestService.start();
});

afterAll(() => service.close());

const failure = () => new StorageUnavailable('The database is away.');

test.each([
  ['is refused later', () => Promise.reject(failure())],
  [
    'is refused at once',
    () => {
      throw failure();
    },
  ],
])('a spend that %s gives its local limits back', async (_title, refuse) => {
  const local = { name: 'local', limit: 2, duration: 3_600_000, async: true };
  const { key } = await service.createKey({ remaining: 10, ratelimits: [local] });
  const { ledger } = service.storage;
  const spend = ledger.spend.bind(ledger);
  let refused = 0;
  ledger.spend = () => {
    refused++;
    return refuse();
  };
  try {
    for (let i = 0; i < 3; i++) {
      expect((await service.call('/v1/keys.verifyKey', { key })).body).toMatchObject({
        error: { code: 'UNAVAILABLE' },
      });
    }
  } finally {
    ledger.spend = spend;
  }
  expect(refused).toBe(3);
  const codes = [await service.verify(key), await service.verify(key), await service.verify(key)].map(
    ({ code }) => code,
  );
  expect(codes).toEqual(['VALID', 'VALID', 'RATE_LIMITED']);
});
