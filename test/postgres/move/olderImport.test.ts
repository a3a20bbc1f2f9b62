import { expect, test } from 'bun:test';

import { IMPORT_NOTE } from '../../../src/storage/sql/move/importedNote.ts';
import { putNote } from '../../../src/storage/postgres/move/readData.ts';
import { prepareTarget } from '../../../src/storage/postgres/move/writeData.ts';
import { installationIn, NEW, NEW_VERSION, OLD_VERSION, withOldDatabase } from '../conformance/records/oldDatabase.ts';

test('an import that is not finished goes on with a newer program, which migrates its tables', async () => {
  await withOldDatabase(async (setup) => {
    await putNote(setup.node, IMPORT_NOTE, '{}');
    const known = await prepareTarget(setup.node, NEW);
    expect([known.get('schema_version'), known.get(IMPORT_NOTE)]).toEqual(['2', '{}']);
    expect(await installationIn(setup)).toEqual({ ...NEW_VERSION, [IMPORT_NOTE]: '{}' });
  });
});

test('older tables without such an import are refused, and stay as they are', async () => {
  await withOldDatabase(async (setup) => {
    expect(await prepareTarget(setup.node, NEW).catch(String)).toBe(
      'WrongServer: The database has schema version 1, and this program is for 2. Start keystile serve, which migrates it.',
    );
    expect(await installationIn(setup)).toEqual(OLD_VERSION);
  });
});
