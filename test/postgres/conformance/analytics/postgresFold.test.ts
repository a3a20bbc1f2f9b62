import { expect, setDefaultTimeout, test } from 'bun:test';

import { CountColumns } from '../../../../src/core/verificationCounts.ts';
import type { Storage } from '../../../../src/storage/port/storage.ts';
import { VirtualClock } from '../../../support/clock.ts';
import { open, postgresServer } from '../postgres.ts';
import { verificationCount, verdictCounts as counts } from '../samples.ts';
import { row, sum } from './analyticsQuestions.ts';

setDefaultTimeout(60_000);

/** Ends a transaction that adds more than so many rows to a table as a time limit would. */
const refuseMoreThan = (rows: number, table: string): string => `
  CREATE FUNCTION too_many() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF (SELECT count(*) FROM ${table} WHERE xmin = pg_current_xact_id()::xid) > ${rows} THEN
        RAISE EXCEPTION 'too many' USING ERRCODE = '57014';
      END IF;
      RETURN NULL;
    END $$;
  CREATE TRIGGER too_many AFTER INSERT ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION too_many();`;

/** What each step of folding came to, until the end of the round. */
async function foldRound(storage: Storage, afterStep: () => Promise<void> = async () => {}): Promise<string[]> {
  const steps: string[] = [];
  while (steps.at(-1) !== 'end' && steps.length < 50) {
    const step = storage.analytics.fold().then((isEnd) => (isEnd ? 'end' : 'done'));
    steps.push(await step.catch((error: unknown) => (error instanceof Error ? error.name : '')));
    await afterStep();
  }
  return steps;
}

async function withDatabase(work: (storage: Storage, run: (sql: string) => Promise<unknown>) => Promise<void>) {
  const server = await postgresServer();
  const url = await server.createDatabase();
  const storage = await open(url, new VirtualClock('2026-03-15T12:00:00Z'));
  try {
    await work(storage, (sql) => server.query(sql, new URL(url).pathname.slice(1)));
  } finally {
    await storage.close();
    await server.dropDatabase(url);
  }
}

test('a step of folding that takes too long is halved until it does not; nothing is lost or counted twice', async () => {
  await withDatabase(async (storage, run) => {
    await run(refuseMoreThan(260, 'key_uses'));
    const many = Array.from({ length: 6_000 }, (_, i) =>
      verificationCount({ keyId: `key_${String(i).padStart(4, '0')}` }),
    );
    await storage.analytics.add(CountColumns.of(many), 1);
    const steps = await foldRound(storage, async () => {
      expect(await sum(storage, { span: 'day' })).toEqual([row({ counts: counts(6_000) })]);
    });
    // 1,000 and 500 rows are too many, 250 are not.
    expect(steps.slice(0, 3)).toEqual(['StorageUnavailable', 'StorageUnavailable', 'done']);
    expect(steps.at(-1)).toBe('end');
  });
});

test('so is a step of making rows of slices', async () => {
  await withDatabase(async (storage, run) => {
    await run(refuseMoreThan(300, 'verdict_log'));
    for (let batch = 1; batch <= 1_100; batch++)
      await storage.analytics.add(CountColumns.of([verificationCount({ keyId: `key_${batch}` })]), batch);
    const steps = await foldRound(storage);
    // 1,000 and 500 slices are too many, 250 and 300 are not, 350 are.
    expect(steps.slice(0, 5)).toEqual([
      ...Array.from({ length: 2 }, () => 'StorageUnavailable'),
      'done',
      'done',
      'StorageUnavailable',
    ]);
    expect(steps.at(-1)).toBe('end');
    expect(await sum(storage, { span: 'day' })).toEqual([row({ counts: counts(1_100) })]);
  });
});

test('tags that are longer than an index takes, written by an older program, are folded under `other`', async () => {
  await withDatabase(async (storage) => {
    // Of characters that are three bytes each, and that do not compress.
    const letters = Array.from({ length: 1_280 }, (_, i) => String.fromCharCode(0x4e00 + ((i * 7_919) % 20_000)));
    const long = JSON.stringify([letters.join('')]);
    await storage.analytics.add(
      CountColumns.of([verificationCount({ tags: long }), verificationCount({ tags: '["a"]', counts: counts(5) })]),
      1,
    );
    await storage.analytics.add(CountColumns.of([verificationCount({ tags: '["other"]', counts: counts(10) })]), 2);
    expect((await foldRound(storage)).at(-1)).toBe('end');
    for (const keyIds of [null, ['key_1']]) {
      expect(await sum(storage, { span: 'day', keyIds, groupBy: ['tags'] })).toEqual([
        row({ tags: '["a"]', counts: counts(5) }),
        row({ tags: '["other"]', counts: counts(11) }),
      ]);
    }
  });
});
