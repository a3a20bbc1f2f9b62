import { expect, setDefaultTimeout, test } from 'bun:test';

import { VirtualClock } from '../harness/clock.ts';
import { open, postgresServer } from './postgres.ts';
import { tally, tallyCounts as counts } from './samples.ts';
import { row, sum } from './tallyQuestions.ts';

setDefaultTimeout(60_000);

/** Ends a fold of more than so many keys as the time limit of a statement would. */
const refuseMoreThan = (keys: number): string => `
  CREATE FUNCTION too_many() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF (SELECT count(*) FROM added) > ${keys} THEN RAISE EXCEPTION 'too many' USING ERRCODE = '57014'; END IF;
      RETURN NULL;
    END $$;
  CREATE TRIGGER too_many AFTER INSERT ON key_uses REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION too_many();`;

test('a step of folding that takes too long is halved until it does not; nothing is lost or counted twice', async () => {
  const server = await postgresServer();
  const url = await server.createDatabase();
  const storage = await open(url, new VirtualClock('2026-03-15T12:00:00Z'));
  try {
    await server.query(refuseMoreThan(1_300), new URL(url).pathname.slice(1));
    const many = Array.from({ length: 6_000 }, (_, i) => tally({ keyId: `key_${String(i).padStart(4, '0')}` }));
    await storage.tallies.add(many, 1);
    const steps: string[] = [];
    while (steps.at(-1) !== 'end' && steps.length < 50) {
      const step = storage.tallies.fold().then((isEnd) => (isEnd ? 'end' : 'done'));
      steps.push(await step.catch((error: unknown) => (error instanceof Error ? error.name : '')));
      expect(await sum(storage, { span: 'day' })).toEqual([row({ counts: counts(6_000) })]);
    }
    // 5,000 and 2,500 rows are too many, 1,250 are not.
    expect(steps.slice(0, 3)).toEqual(['StorageUnavailable', 'StorageUnavailable', 'done']);
    expect(steps.at(-1)).toBe('end');
  } finally {
    await storage.close();
    await server.dropDatabase(url);
  }
});
