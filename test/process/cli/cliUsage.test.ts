import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';

import { type Situation, SITUATIONS } from './cliRun.ts';

// Each command opens the database, which waits for the disk of a busy machine.
setDefaultTimeout(20_000);

for (const [title, make] of Object.entries(SITUATIONS)) {
  describe(title, () => {
    let here: Situation;
    let keyId: string;
    beforeAll(async () => {
      here = await make();
      const apiId = (await here.json('api', 'create', 'used'))['apiId'] as string;
      const made = await here.json('key', 'create', '--api', apiId, '--credits', '100');
      keyId = made['keyId'] as string;
      await here.ok('key', 'verify', made['key'] as string);
      await here.ok('key', 'create', '--api', apiId, '--credits', '5');
    });
    afterAll(() => here[Symbol.asyncDispose]());

    test('one holder by day, also the days on which nothing happened, and the sum', async () => {
      const lines = (await here.ok('usage', '--key', keyId)).split('\n');
      expect(lines[0]).toMatch(/^DAY +SPENT$/);
      // The time a week ago is in the first of eight days.
      expect(lines.slice(1, -2).every((line) => /^\d{4}-\d\d-\d\d {2} {4}[01]$/.test(line))).toBe(true);
      expect(lines.length - 3).toBe(8);
      expect(lines.at(-2)).toBe('Sum: spent 1, granted 0, refilled 0, adjusted 100, expired 0. Balance: 99.');
    });

    test('only the days that begin before --until, and without --since the week before it', async () => {
      const days = async (...words: string[]): Promise<string[]> => {
        const lines = (await here.ok('usage', '--key', keyId, ...words)).split('\n');
        return lines.slice(1, -2).map((line) => line.slice(0, 10));
      };
      expect(await days('--until', '2026-01-03', '--since', '2026-01-01')).toEqual(['2026-01-01', '2026-01-02']);
      const week = await days('--until', '2026-01-03');
      expect([week.length, week[0], week.at(-1)]).toEqual([7, '2025-12-27', '2026-01-02']);
      const { rows } = (await here.json('usage', '--key', keyId, '--until', '2026-01-03')) as { rows: unknown[] };
      expect(rows).toEqual([]);
      expect((await days('--until', '2999-01-01', '--since', '1d')).length).toBe(2);
      // A later time is no longer ago: the week ends now.
      expect((await days('--until', '2999-01-01')).length).toBe(8);
    });

    test('those who spent the most, and all rows as JSON and CSV', async () => {
      const shown = await here.ok('usage', '--top', '1', '--since', '1d');
      expect(shown).toBe(`WHO${' '.repeat(keyId.length - 3)}  SPENT\n${keyId}      1\nSum of all 1: spent 1.\n`);
      const { rows } = (await here.json('usage', '--key', keyId)) as { rows: Record<string, unknown>[] };
      expect(rows.at(-1)).toMatchObject({ keyId, closing: 99 });
      const [heading, first] = (await here.ok('usage', '--key', keyId, '--csv')).split('\r\n');
      expect(heading).toBe(
        'keyId,identityId,externalId,start,end,opening,granted,refilled,adjusted,spent,expired,closing,held',
      );
      expect(first).toMatch(new RegExp(`^${keyId},,,\\d+,\\d+,0,0,0,100,[01],0,\\d+,0$`));
      expect(await here.ok('usage', '--since', '2020-01-01', '--csv')).toContain(keyId);
    });

    test('a wrong flag is named', async () => {
      const wrong = async (...words: string[]) => {
        const { code, err } = await here.run(['usage', ...words]);
        return [code, err.split('\n')[0]];
      };
      expect(await wrong('--since', 'yesterday')).toEqual([
        2,
        '--since must be a time span such as 30d or 24h, unix milliseconds or a date such as 2030-12-31 (midnight UTC) or 2030-12-31T18:00:00Z, got "yesterday".',
      ]);
      expect(await wrong('--since', '2999-01-01')).toEqual([2, '--since must be in the past, got "2999-01-01".']);
      expect(await wrong('--since', '2026-01-02', '--until', '2026-01-02')).toEqual([
        2,
        '--until must be after --since, got "2026-01-02".',
      ]);
      expect(await wrong('--top', '0')).toEqual([2, '--top must be at least 1, got "0".']);
      expect(await wrong('--top', '3', '--key', keyId)).toEqual([
        2,
        '--top is for many customers and keys. Leave out --top or --key.',
      ]);
      expect(await wrong('--plan', 'a', '--customer', 'b')).toEqual([2, 'Give only one of --customer and --plan.']);
      expect(await wrong('--csv', '--json')).toEqual([2, expect.stringContaining('Give --csv or --json, not both.')]);
      expect(await wrong('--customer', 'nobody')).toEqual([
        1,
        'There is no customer with this external id, or this root key may not see it.',
      ]);
    });
  });
}
