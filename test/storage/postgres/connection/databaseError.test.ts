import { describe, expect, test } from 'bun:test';

import { DatabaseError } from 'pg';

import { ConnectionLost, kindOf, reasonOf } from '../../../../src/storage/postgres/connection/databaseError.ts';
import { KnownWindows } from '../../../../src/storage/postgres/management/management.ts';
import { orExplain } from '../../../../src/storage/postgres/move.ts';

function refusal(code: string): DatabaseError {
  const error = new DatabaseError('no', 1, 'error');
  error.code = code;
  return error;
}

describe('failures', () => {
  test.each([
    ['08006', 'lost'],
    ['57P01', 'lost'],
    ['57014', 'unable'],
    ['25006', 'readonly'],
    ['55P03', 'busy'],
    ['40P01', 'rolled back'],
    ['40001', 'rolled back'],
    ['23514', 'refused'],
    ['22003', 'refused'],
    ['53100', 'unable'],
  ])('SQLSTATE %s is %s', (code, kind) => {
    expect<string>(kindOf(refusal(code))).toBe(kind);
  });

  test('what the server did not say is a lost connection', () => {
    expect(kindOf(new ConnectionLost('x'))).toBe('lost');
    expect(kindOf(new Error('socket closed'))).toBe('lost');
  });

  test('are told in one line', () => {
    expect(reasonOf(new Error('first\nsecond'))).toBe('first');
    expect(reasonOf(new AggregateError([new Error('refused')], ''))).toBe('refused');
  });
});

describe('known ad-hoc windows', () => {
  const window = { owner: 'key_1', name: 'a', durationMs: 1_000 };

  test('are known until they end, for then they may be removed', () => {
    const known = new KnownWindows();
    known.add(window, 7, 5_500);
    expect([known.find(window, 5_999), known.find(window, 6_000)]).toEqual([7, undefined]);
  });

  test('are forgotten by their account, and not mixed up by their names', () => {
    const known = new KnownWindows();
    known.add(window, 7, 5_500);
    expect(known.find({ ...window, owner: 'key_' }, 5_500)).toBeUndefined();
    known.drop(8);
    expect(known.find(window, 5_500)).toBe(7);
    known.drop(7);
    expect(known.find(window, 5_500)).toBeUndefined();
  });
});

test.each(['22P02', '23502'])(
  'a value of an import that the database refuses (%s) is not taken for a wrong database',
  (state) => {
    const refused = orExplain(Promise.reject(refusal(state)), 'Try again.');
    expect(refused).rejects.toThrow(`The database refused (no [${state}]). Try again.`);
  },
);
