import { afterEach, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { sha256 } from './imported.ts';

const PEPPER = '1:a-pepper-of-many-characters';
const NEXT = `2:the-next-pepper-of-some-length,${PEPPER}`;
const SECRET = 'secret-made-elsewhere-and-long-enough';

const services: TestService[] = [];

afterEach(async () => {
  for (const service of services.splice(0).toReversed()) await service.close();
});

async function start(pepper: string | null, folder?: string): Promise<TestService> {
  const settings = pepper === null ? {} : { KEYSTILE_PEPPER: pepper };
  const service = await TestService.start({ settings, ...(folder === undefined ? {} : { folder }) });
  services.push(service);
  return service;
}

/** The same data under another pepper. */
async function reopen(before: TestService, pepper: string | null): Promise<TestService> {
  await before.stop();
  return start(pepper, before.folder);
}

const hashOf = (secret: string) => ({ hash: { value: sha256(secret), variant: 'sha256_base64' } });

const importKey = (service: TestService, apiId: string, secret: object) =>
  service.call('/v1/migrations.createKeys', [{ apiId, ...secret }]);

describe('with a pepper', () => {
  test.each([
    ['its SHA-256', hashOf(SECRET)],
    ['its plaintext', { plaintext: SECRET }],
  ])('a key that was imported by %s verifies, and its plain SHA-256 is not stored', async (_name, secret) => {
    const service = await start(PEPPER);
    const apiId = await service.createApi();
    const { body } = await importKey(service, apiId, secret);
    expect(await service.verify(SECRET)).toMatchObject({ valid: true, keyId: body.keyIds[0] });
    const [stored] = await service.storage.records.findTakenDigests([
      sha256(SECRET),
      service.engine.system.digestSecret(SECRET),
    ]);
    expect(stored).toBe(service.engine.system.digestSecret(SECRET));
    expect(stored).not.toBe(sha256(SECRET));
  });

  test('an imported key verifies under the next pepper, too', async () => {
    const first = await start(PEPPER);
    await importKey(first, await first.createApi(), hashOf(SECRET));
    const second = await reopen(first, NEXT);
    expect(await second.verify(SECRET)).toMatchObject({ valid: true });
  });

  test('a key that is stored under an older pepper, or none, exists already', async () => {
    const none = await start(null);
    const apiId = await none.createApi();
    await importKey(none, apiId, hashOf('stored without a pepper'));
    const first = await reopen(none, PEPPER);
    await importKey(first, apiId, hashOf('stored under the first'));
    const second = await reopen(first, NEXT);
    for (const secret of ['stored without a pepper', 'stored under the first']) {
      for (const again of [hashOf(secret), { plaintext: secret }]) {
        expect((await importKey(second, apiId, again)).status).toBe(409);
      }
    }
  });

  test('what was queued under the pepper before is made, and verifies', async () => {
    const first = await start(PEPPER);
    const apiId = await first.createApi();
    await first.call('/v1/migrations.enqueueKeys', { migrationId: 'm', apiId, keys: [{ plaintext: SECRET }] });
    const second = await reopen(first, NEXT);
    await second.engine.importQueue.run();
    expect(await second.verify(SECRET)).toMatchObject({ valid: true });
  });
});
