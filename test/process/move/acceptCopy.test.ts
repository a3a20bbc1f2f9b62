import { expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';

import { TestService } from '../../support/service.ts';
import { keystile } from '../cli/cliRun.ts';
import { TempFolder } from '../process.ts';

test('an export that was made without --move is imported only with --accept, and one with it at once', async () => {
  using own = new TempFolder();
  const from = { KEYSTILE_DATA: own.join('data') };
  const service = await TestService.start({ folder: own.join('data') });
  await service.close();
  await keystile(['data', 'export', own.join('whole')], { environment: from });
  const environment = { KEYSTILE_DATA: own.join('new') };
  const comesBack =
    /^The export was made without --move at \S+ \S+ UTC\. Credits that were spent after that come back, and keys that were revoked after that are valid again\. /;
  const refused = await keystile(['data', 'import', own.join('whole')], { environment });
  expect([refused.code, refused.err]).toEqual([2, expect.stringMatching(comesBack)]);
  expect(refused.err).toEndWith(' Nothing was changed. To import it, add --accept.\n');
  expect(readdirSync(own.path).sort()).toEqual(['data', 'whole']);
  const accepted = await keystile(['data', 'import', own.join('whole'), '--accept'], { environment });
  expect([accepted.code, accepted.err]).toEqual([0, expect.stringMatching(comesBack)]);
  await keystile(['data', 'export', own.join('moved'), '--move'], { environment });
  const moved = await keystile(['data', 'import', own.join('moved')], {
    environment: { KEYSTILE_DATA: own.join('b') },
  });
  expect([moved.code, moved.err]).toEqual([0, '']);
});

test('a data folder and PostgreSQL at once are refused by all three commands', async () => {
  const environment = { KEYSTILE_DATABASE_URL: 'postgres://nowhere/keystile' };
  for (const words of [
    ['export', 'b'],
    ['import', 'whole'],
    ['release', '--yes'],
  ])
    expect(await keystile(['data', ...words, '--data', 'data'], { environment })).toEqual({
      code: 2,
      out: '',
      err: '--data names a data folder, and KEYSTILE_DATABASE_URL names a PostgreSQL database. Leave one of them out.\n',
    });
});
