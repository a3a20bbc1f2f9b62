import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';

import { type Answer, TestService } from '../../support/service.ts';
import { remainingIn } from '../documentation/offline.ts';
import { SERVE, TempFolder } from '../process.ts';
import { Server } from '../server.ts';

interface Verdict {
  readonly code: string;
  readonly remaining?: number;
  readonly ratelimit?: { readonly remaining: number };
}

/** Status and code of an answer, be it a verdict or an error. */
function outcome({ status, body }: Answer): [number, string] {
  const { code, error } = body as { code?: string; error?: { code: string } };
  return [status, error?.code ?? code ?? ''];
}

describe('a full disk', () => {
  let service: TestService;

  beforeEach(async () => {
    service = await TestService.start();
  });

  afterEach(async () => {
    await service.close();
  });

  /** As many keys that their spends in one batch make a log row larger than what is free in the file. */
  const manyKeys = async (): Promise<{ keyId: string; key: string }[]> => {
    const apiId = await service.createApi();
    const limits = { ratelimit: { async: false, limit: 100, duration: 86_400_000 } };
    return Promise.all(Array.from({ length: 400 }, () => service.createKey({ apiId, remaining: 10, ...limits })));
  };
  const verifyAll = (keys: readonly { key: string }[]): Promise<Answer[]> =>
    Promise.all(keys.map(({ key }) => service.call('/v1/keys.verifyKey', { key }, { rootKey: null })));
  const peekAll = (keys: readonly { key: string }[]): Promise<unknown[]> =>
    Promise.all(
      keys.map(async ({ key }) => {
        const verdict = (await service.verify(key, { remaining: { cost: 0 }, ratelimit: { cost: 0 } })) as Verdict;
        return [verdict.remaining, verdict.ratelimit?.remaining];
      }),
    );
  const whatsLeft = (answers: readonly Answer[]): unknown[] =>
    answers.map((answer) => [...outcome(answer), (answer.body as Verdict).remaining]);
  /** How many rows of each kind are in the file itself. */
  const storedRows = (): unknown => {
    using db = new Database(`${service.folder}/keystile.db`, { readonly: true });
    return db
      .query('SELECT (SELECT count(*) FROM keys) AS keys, (SELECT count(*) FROM identities) AS identities')
      .get();
  };

  test('every request of the batch answers 503, nothing is spent in memory or on disk, and it goes on with space', async () => {
    const keys = await manyKeys();
    expect(whatsLeft(await verifyAll(keys))).toEqual(keys.map(() => [200, 'VALID', 9]));
    await service.fillDisk();
    const refused = await verifyAll(keys);
    expect(whatsLeft(refused)).toEqual(keys.map(() => [503, 'UNAVAILABLE', undefined]));
    expect(refused.map(({ headers }) => headers.get('retry-after'))).toEqual(keys.map(() => '1'));
    expect(await peekAll(keys)).toEqual(keys.map(() => [9, 99]));
    await service.storage.setMaxPages(null);
    expect(whatsLeft(await verifyAll(keys))).toEqual(keys.map(() => [200, 'VALID', 8]));
    await service.restart();
    expect(await peekAll(keys)).toEqual(keys.map(() => [8, 98]));
    expect(service.broken).toEqual([]);
  });

  test('what was refused is not on disk either: a restart with space finds every balance untouched', async () => {
    const keys = await manyKeys();
    await service.fillDisk();
    await verifyAll(keys);
    await service.restart();
    expect(await peekAll(keys)).toEqual(keys.map(() => [10, 100]));
  });

  test('refusals, reads and keys without an exact counter are answered as ever', async () => {
    const keys = await manyKeys();
    const empty = await service.createKey({ remaining: 0 });
    const disabled = await service.createKey({ enabled: false });
    const local = await service.createKey({ ratelimit: { limit: 1, duration: 60_000 } });
    await service.fillDisk();
    expect(new Set((await verifyAll(keys)).map(({ status }) => status))).toEqual(new Set([503]));
    expect(await service.verify(empty.key)).toMatchObject({ code: 'USAGE_EXCEEDED', remaining: 0 });
    expect(await service.verify(disabled.key)).toMatchObject({ code: 'DISABLED' });
    expect(await service.verify(local.key)).toMatchObject({ code: 'VALID' });
    expect(await service.verify(local.key)).toMatchObject({ code: 'RATE_LIMITED' });
    expect(await service.verify('no such key')).toMatchObject({ code: 'NOT_FOUND' });
    expect(await service.ok('/v1/keys.getKey', { keyId: empty.keyId })).toMatchObject({ remaining: 0 });
    expect(await service.ok('/v1/apis.listKeys', { apiId: empty.apiId })).toMatchObject({ total: 1 });
  });

  test('a key that cannot be stored answers 503 and leaves nothing of itself behind', async () => {
    const apiId = await service.createApi();
    const before = storedRows();
    const wanted = { apiId, remaining: 5, externalId: 'a new owner', meta: { filler: 'x'.repeat(15_000) } };
    await service.fillDisk();
    const answer = await service.call('/v1/keys.createKey', wanted);
    expect(outcome(answer)).toEqual([503, 'UNAVAILABLE']);
    expect(storedRows()).toEqual(before);
    expect(await service.ok('/v1/apis.listKeys', { apiId })).toMatchObject({ total: 0 });
    await service.storage.setMaxPages(null);
    const { key } = await service.createKey(wanted);
    expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 4, ownerId: 'a new owner' });
  });

  test('a change that cannot be stored answers 503, and the key stays as it was', async () => {
    const { key, keyId } = await service.createKey({ remaining: 5 });
    await service.fillDisk();
    const meta = { filler: 'x'.repeat(15_000) };
    const answer = await service.call('/v1/keys.updateKey', { keyId, enabled: false, remaining: 99, meta });
    expect(outcome(answer)).toEqual([503, 'UNAVAILABLE']);
    await service.storage.setMaxPages(null);
    expect(await service.verify(key)).toMatchObject({ valid: true, remaining: 4, meta: {} });
  });
});

describe('an I/O error while serving (a write past the allowed file size fails)', () => {
  /** Blocks of 512 bytes (in some shells of 1024): room for the start, and for some dozens of commits. */
  const LIMITED = ['sh', '-c', `trap '' XFSZ; ulimit -f 1536; exec "$@"`, 'sh', ...SERVE];
  const CREDITS = 100_000;
  const MAX_REQUESTS = 5_000;

  interface Seen {
    valid: number;
    unanswered: number;
    readonly refused: unknown[];
    validAfterFailure: number;
  }

  /** Spends until the connection fails. */
  const spendUntilGone = async (server: Server, key: string, seen: Seen, shared: { hasFailed: boolean }) => {
    for (let request = 0; request < MAX_REQUESTS; request++) {
      const sentAfterFailure = shared.hasFailed;
      const answer = await server.call('/v1/keys.verifyKey', { key }).catch(() => null);
      const isValid = answer?.status === 200 && (answer.body as { valid: boolean }).valid;
      if (isValid) seen.valid++;
      else shared.hasFailed = true;
      if (isValid && sentAfterFailure) seen.validAfterFailure++;
      if (answer === null) return void seen.unanswered++;
      if (!isValid) seen.refused.push(answer.status);
    }
    throw new Error('the limit on the size of files was never reached');
  };

  test('nothing is valid after it, the process ends with code 74, and no answered spend is missing afterwards', async () => {
    using folder = new TempFolder();
    const seen: Seen = { valid: 0, unanswered: 0, refused: [], validAfterFailure: 0 };
    await using server = await Server.start(folder, { command: LIMITED });
    const { key, keyId } = await server.createKey({ remaining: CREDITS });
    const shared = { hasFailed: false };
    await Promise.all(Array.from({ length: 16 }, () => spendUntilGone(server, key, seen, shared)));
    expect(await server.child.exited()).toBe(74);
    expect(seen.validAfterFailure).toBe(0);
    expect(seen.refused.filter((status) => status !== 503)).toEqual([]);
    expect(server.child.stderr).toContain('"level":"error","message":"the database has failed: the service stops"');
    expect(server.child.stderr).toContain('SQLITE_IOERR_WRITE');
    const spent = CREDITS - (await remainingIn(folder.join('data'), keyId));
    expect(spent).toBeGreaterThanOrEqual(seen.valid);
    expect(spent).toBeLessThanOrEqual(seen.valid + seen.refused.length + seen.unanswered);
  });

  test('a verification that spends nothing is not valid after it, either', async () => {
    using folder = new TempFolder();
    await using server = await Server.start(folder, { command: LIMITED });
    const { key } = await server.createKey({ remaining: CREDITS });
    const free = await server.createKey({});
    expect(await server.verify(free.key)).toMatchObject({ valid: true });
    for (let request = 0; request < MAX_REQUESTS; request++) {
      const answer = await server.call('/v1/keys.verifyKey', { key }).catch(() => null);
      if (answer?.status !== 200) break;
    }
    const after = await server.call('/v1/keys.verifyKey', { key: free.key }).catch(() => null);
    expect([undefined, 503]).toContain(after?.status);
    expect(await server.child.exited()).toBe(74);
  });
});
