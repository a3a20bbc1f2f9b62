import { describe, expect, test } from 'bun:test';

import type { Ask } from '../../../src/cli/ask.ts';
import { CliError, type FailureDetails } from '../../../src/cli/cliError.ts';
import { KeySender } from '../../../src/cli/import/run.ts';

const refusal = (details: FailureDetails, message = 'refused'): CliError => new CliError(1, [message], details);

/** A service whose answers come from the function. Records what it receives. */
function sender(answer: (names: readonly string[], call: number) => CliError | null) {
  const sent: string[][] = [];
  const pauses: number[] = [];
  const ask = (async (_method: string, body: object) => {
    const names = (body as { name: string }[]).map(({ name }) => name);
    sent.push(names);
    const failure = answer(names, sent.length);
    if (failure !== null) throw failure;
    return {};
  }) as unknown as Ask;
  const pause = async (milliseconds: number) => void pauses.push(milliseconds);
  return { sent, pauses, sender: new KeySender(ask, 'api_for_all', pause) };
}

/** The message of the failure. */
const failureOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'nothing failed',
    (error: unknown) => (error as Error).message,
  );

const keys = (...names: string[]) => names.map((name) => ({ name }));

describe('a batch', () => {
  test('that the service accepts is imported', async () => {
    const { sender: it, sent } = sender(() => null);
    expect(await it.send(keys('a', 'b'))).toEqual(['imported', 'imported']);
    expect(sent).toEqual([['a', 'b']]);
  });

  test('of no keys is not sent', async () => {
    const { sender: it, sent } = sender(() => null);
    expect([await it.send([]), sent]).toEqual([[], []]);
  });

  test('is sent again without the keys that an error names: keys that exist are present, the others have failed', async () => {
    const { sender: it, sent } = sender((names, call) => {
      if (call === 1) return refusal({ code: 'CONFLICT', issues: [{ path: '[1]', message: 'exists' }] });
      if (call === 2) {
        const issues = [
          { path: '[0].remaining', message: '[0].remaining must be a number' },
          { path: '[0]', message: '[0]: needs more' },
          { path: '[2].meta', message: '[2]: meta is too large' },
        ];
        return refusal({ code: 'BAD_REQUEST', issues });
      }
      return names.includes('c') ? null : refusal({ code: 'INTERNAL_SERVER_ERROR' });
    });
    expect(await it.send(keys('a', 'b', 'c', 'd'))).toEqual([
      { failed: 'remaining must be a number; needs more' },
      'present',
      'imported',
      { failed: 'meta is too large' },
    ]);
    expect(sent).toEqual([['a', 'b', 'c', 'd'], ['a', 'c', 'd'], ['c']]);
  });

  test('with the api of --api ends the import at once when that api does not exist', async () => {
    const issues = [
      { path: '[0]', message: 'There is no api "api_own".' },
      { path: '[1]', message: 'There is no api "api_for_all".' },
    ];
    const { sender: it, sent } = sender((_names, call) => (call === 1 ? refusal({ code: 'NOT_FOUND', issues }) : null));
    const batch = [
      { name: 'a', apiId: 'api_own' },
      { name: 'b', apiId: 'api_for_all' },
    ];
    expect(await failureOf(it.send(batch))).toBe('There is no api "api_for_all".');
    expect(sent.length).toBe(1);
    const own = sender((_names, call) =>
      call === 1 ? refusal({ code: 'NOT_FOUND', issues: issues.slice(0, 1) }) : null,
    );
    expect(await own.sender.send(batch)).toEqual([{ failed: 'There is no api "api_own".' }, 'imported']);
    // Not the api is missing, but an owner.
    const unknown = [{ path: '[1].externalId', message: 'There is no identity.' }];
    const strict = sender((_names, call) => (call === 1 ? refusal({ code: 'NOT_FOUND', issues: unknown }) : null));
    expect(await strict.sender.send(batch)).toEqual(['imported', { failed: 'There is no identity.' }]);
  });

  test('whose error does not name a key is sent one by one', async () => {
    const { sender: it, sent } = sender((names) => {
      if (names.includes('known')) return refusal({ code: 'CONFLICT' });
      return names.includes('bad') ? refusal({ code: 'INTERNAL_SERVER_ERROR' }, 'something') : null;
    });
    expect(await it.send(keys('a', 'known', 'bad', 'b'))).toEqual([
      'imported',
      'present',
      { failed: 'something' },
      'imported',
    ]);
    expect(sent).toEqual([['a', 'known', 'bad', 'b'], ['a'], ['known'], ['bad'], ['b']]);
  });

  test.each([['UNAUTHORIZED'], ['INSUFFICIENT_PERMISSIONS'], ['PRECONDITION_FAILED'], ['NOT_FOUND']])(
    'that is refused as a whole with %s ends the import at once',
    async (code) => {
      const { sender: it, sent, pauses } = sender(() => refusal({ code }, 'no'));
      expect(await failureOf(it.send(keys('a', 'b')))).toBe('no');
      expect([sent.length, pauses]).toEqual([1, []]);
    },
  );

  test.each([['UNAVAILABLE'], ['OUTCOME_UNKNOWN'], ['RATE_LIMITED'], [undefined]])(
    'that fails with %s is retried after growing pauses, and fails after six tries',
    async (code) => {
      const details = code === undefined ? {} : { code };
      const passing = sender((_names, call) => (call < 3 ? refusal(details) : null));
      expect([await passing.sender.send(keys('a')), passing.pauses]).toEqual([['imported'], [250, 500]]);
      const lasting = sender(() => refusal(details, 'still not'));
      expect(await failureOf(lasting.sender.send(keys('a')))).toBe('still not');
      expect(lasting.pauses).toEqual([250, 500, 1000, 2000, 4000]);
    },
  );
});
