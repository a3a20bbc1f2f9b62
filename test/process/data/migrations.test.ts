import { describe, expect, test } from 'bun:test';

import { SCHEMA_VERSION } from '../../../src/storage/sqlite/file/migrate.ts';
import { checkAdditions } from '../../support/fixtures/additions.ts';
import { copyFixture, fixtureVersions, type MadeKey } from '../../support/fixtures/databases.ts';
import { TestService } from '../../support/service.ts';
import { TempFolder } from '../process.ts';
/** Verifications of the fixture's api. */
const COUNTED = 28;

function idsOf(keys: Readonly<Record<string, MadeKey>>): string[] {
  return Object.values(keys)
    .map(({ keyId }) => keyId)
    .sort();
}

describe('databases of every schema version', () => {
  test('there is a fixture of each version, up to the present one', () => {
    const versions = Array.from({ length: SCHEMA_VERSION }, (_, i) => `v${i + 1}`);
    expect(fixtureVersions()).toEqual(versions.sort());
  });

  for (const version of fixtureVersions()) {
    test(`${version}: every record is read and every counter stands where it was`, async () => {
      using folder = new TempFolder();
      const { keys, apiId, rootKey, workspaceId } = copyFixture(version, folder.path);
      const service = await TestService.start({ folder: folder.path, startsAt: '2026-03-15T12:30:00Z' });
      try {
        service.rootKey = rootKey;
        expect(await service.ok('/v1/apis.getApi', { apiId })).toEqual({
          id: apiId,
          workspaceId,
          name: 'fixture api',
          deleteProtection: false,
        });
        const listed = (await service.ok('/v1/apis.listKeys', { apiId })) as { keys: { id: string }[]; total: number };
        const { deleted, ...there } = keys;
        expect(listed.total).toBe(9);
        expect(listed.keys.map(({ id }) => id).sort()).toEqual(idsOf(there));
        const expected = {
          plain: { code: 'VALID', name: 'plain', meta: { plan: 'free' }, ownerId: 'owner_1' },
          credits: { code: 'VALID', remaining: 95 },
          restored: { code: 'VALID', remaining: 42 },
          added: { code: 'VALID', remaining: 2 },
          strict: { code: 'VALID', ratelimit: { limit: 10, remaining: 3, reset: Date.parse('2027-02-13T00:00:00Z') } },
          local: { code: 'VALID', ratelimit: { limit: 10, remaining: 2, reset: Date.parse('2027-02-13T00:00:00Z') } },
          disabled: { code: 'DISABLED', remaining: 9 },
          expiring: { code: 'VALID', expires: Date.parse('2026-03-20T00:00:00Z') },
          listed: { code: 'VALID', environment: 'test' },
        };
        for (const [name, verdict] of Object.entries(expected)) {
          expect(await service.verify(there[name as keyof typeof there].key)).toMatchObject(verdict);
        }
        expect(await service.verify(deleted.key)).toMatchObject({ code: 'NOT_FOUND' });
        for (const search of ['plain', 'free', 'fix']) {
          expect((await service.ok('/v1/apis.listKeys', { apiId, search })).total).toBe(1);
        }
      } finally {
        await service.close();
      }
    });

    test(`${version}: roles, identities, rotated secrets and overrides stand where they were`, async () => {
      using folder = new TempFolder();
      const { additions, rootKey } = copyFixture(version, folder.path);
      const service = await TestService.start({ folder: folder.path, startsAt: '2026-03-15T12:30:00Z' });
      try {
        service.rootKey = rootKey;
        await checkAdditions(service, additions);
      } finally {
        await service.close();
      }
    });

    test(`${version}: verifications that were counted, and last uses, are there`, async () => {
      using folder = new TempFolder();
      const { keys, apiId, rootKey } = copyFixture(version, folder.path);
      const service = await TestService.start({ folder: folder.path, startsAt: '2026-03-15T12:30:00Z' });
      try {
        service.rootKey = rootKey;
        for (let n = 0; n < 2; n++) {
          const counted = await service.ok('/v1/analytics.getVerifications', { apiId, groupBy: 'day' });
          const [{ time, total }] = counted.slice(-1);
          expect([time, total]).toEqual([Date.parse('2026-03-15T00:00:00Z'), COUNTED]);
          const { lastUsedAt } = await service.ok('/v1/keys.getKey', { keyId: keys.plain.keyId });
          expect(lastUsedAt).toBe(Date.parse('2026-03-15T12:00:00Z'));
          await service.engine.countWriting.fold();
        }
      } finally {
        await service.close();
      }
    });

    test(`${version}: refills, expiry and idempotency keys go on from where they were`, async () => {
      using folder = new TempFolder();
      const { keys } = copyFixture(version, folder.path);
      const service = await TestService.start({ folder: folder.path, startsAt: '2026-03-15T23:59:59.999Z' });
      try {
        const retry = service.verify(keys.credits.key, { idempotencyKey: 'fixture-0001' });
        expect(await retry).toMatchObject({ valid: true, remaining: 96 });
        expect(await service.verify(keys.credits.key)).toMatchObject({ remaining: 95 });
        expect(await service.verify(keys.restored.key)).toMatchObject({ remaining: 42 });
        service.clock.set('2026-03-16T00:00:00Z');
        expect(await service.verify(keys.restored.key)).toMatchObject({ remaining: 49 });
        service.clock.set('2026-03-20T00:00:00Z');
        expect(await service.verify(keys.expiring.key)).toMatchObject({ code: 'EXPIRED' });
        service.clock.set('2026-04-01T00:00:00Z');
        expect(await service.verify(keys.added.key)).toMatchObject({ remaining: 12 });
      } finally {
        await service.close();
      }
    });
  }
});
