import { expect, spyOn, test } from 'bun:test';

import { findPermissions } from '../../../src/storage/sql/permissions.ts';
import type { SqlReader, Statement } from '../../../src/storage/sql/query/statement.ts';
import { collidingTexts } from '../../support/collidingTexts.ts';

test('names are read each once, and put into no Set, in which they could all fall into one place', async () => {
  const asked: Statement[] = [];
  const read = <T>(statement: Statement): Promise<T[]> => {
    asked.push(statement);
    return Promise.resolve([]);
  };
  const reader: SqlReader = { find: read, scan: read };
  const names = collidingTexts(600);
  const add = spyOn(Set.prototype, 'add');
  try {
    await findPermissions(reader, { ids: [], names: [...names, ...names] });
    expect(add).toHaveBeenCalledTimes(0);
  } finally {
    add.mockRestore();
  }
  expect(asked.map(({ params }) => params)).toEqual([names.slice(0, 500), names.slice(500)]);
});
