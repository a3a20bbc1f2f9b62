import { afterAll, beforeAll, describe, expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';
import type { CaseSetup } from './cases/case.ts';
import { GROUPS } from './cases/groups.ts';
import { deleteRecords, makeRecords } from './records.ts';
import { shownRefusal } from './shownError.ts';
import { storedIn } from './stored.ts';

/** Every request of the tables in `cases` is refused with the words in the snapshot, and stores nothing. */

let setup: CaseSetup;

beforeAll(async () => {
  const service = await TestService.start({ startsAt: '2026-03-15T12:00:00Z' });
  const [records, gone] = [await makeRecords(service, 'x'), await makeRecords(service, 'gone')];
  await deleteRecords(service, gone);
  setup = { ...records, service, gone };
});

afterAll(async () => {
  await setup.service.close();
});

describe.each(GROUPS)('refused: %s', (_group, cases) => {
  test.each(cases)('%s', async (_title, ask) => {
    const { service } = setup;
    const { path, body, options } = await ask(setup);
    const before = storedIn(service.folder);
    const answer = await service.call(path, body, options);
    const after = storedIn(service.folder);
    expect(shownRefusal(answer, body)).toMatchSnapshot();
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(after).toEqual(before);
  });
});
