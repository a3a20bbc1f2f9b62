import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { int8List, textList } from '../../../src/storage/postgres/connection/binaryLists.ts';
import { callPrepared } from '../../../src/storage/postgres/connection/preparedCall.ts';
import { FaultLab } from '../../support/cluster/faultLab.ts';

let lab: FaultLab;

beforeAll(async () => {
  lab = await FaultLab.start();
});

afterAll(async () => {
  await lab[Symbol.asyncDispose]();
});

const ECHO = { name: 'echo', text: 'SELECT ($1::bigint)::text || $2::bigint[]::text || $3::text[]::text' };
const DIVIDE = { name: 'divide', text: 'SELECT (1 / $1::int)::text' };
const MISSING = { name: 'missing', text: 'SELECT missing_function($1::int)::text' };

describe('a call of a prepared statement', () => {
  test('answers its text; the statement is prepared once on a connection', async () => {
    const client = await lab.client();
    const values = ['7', int8List([1, null, -(2 ** 53) + 1]), textList(['a b', '"', ''])];
    for (let i = 0; i < 3; i++) {
      expect(await callPrepared(client, ECHO, values)).toBe('7{1,NULL,-9007199254740991}{"a b","\\"",""}');
    }
    const { rows } = await client.query(`SELECT count(*)::int FROM pg_prepared_statements WHERE name LIKE 'echo%'`);
    expect(rows).toEqual([{ count: 1 }]);
  });

  test('that fails does not keep the next one from working, whether or not the statement was prepared', async () => {
    const client = await lab.client();
    const failure = (divisor: string) => callPrepared(client, DIVIDE, [divisor]).catch(String);
    expect(await failure('0')).toContain('division by zero');
    expect(await failure('1')).toBe('1');
    expect(await failure('0')).toContain('division by zero');
    expect(await failure('1')).toBe('1');
    expect(await callPrepared(client, MISSING, ['1']).catch(String)).toContain('does not exist');
    await client.query(`CREATE FUNCTION missing_function(int) RETURNS int LANGUAGE sql AS 'SELECT $1 + 1'`);
    expect(await callPrepared(client, MISSING, ['1'])).toBe('2');
  });
});
