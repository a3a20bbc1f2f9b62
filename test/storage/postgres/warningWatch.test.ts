import { expect, test } from 'bun:test';

import { type Watched, WarningWatch } from '../../../src/storage/postgres/connection/warningWatch.ts';

test('what makes a database trouble is told when it comes and when it goes, once each', () => {
  const said: string[] = [];
  const say = (level: string) => (message: string, fields?: object) =>
    said.push(`${level}: ${message} ${JSON.stringify(fields)}`);
  let watched: Watched = { trouble: null, warnings: [] };
  const watch = new WarningWatch(
    {
      get trouble() {
        return watched.trouble;
      },
      get warnings() {
        return watched.warnings;
      },
    },
    { info: say('info'), warn: say('warn'), error: say('error') },
  );
  const states: readonly Watched[] = [
    { trouble: null, warnings: [] },
    { trouble: 'fsync', warnings: ['pages'] },
    { trouble: 'fsync', warnings: ['pages'] },
    { trouble: null, warnings: ['pages'] },
    { trouble: null, warnings: [] },
  ];
  for (watched of states) watch.look();
  expect(said).toEqual([
    'error: the database is not safe: this node is not ready {"problem":"fsync"}',
    'warn: the database is less safe than it could be {"problem":"pages"}',
    'info: a problem of the database has ended {"problem":"fsync"}',
    'info: a problem of the database has ended {"problem":"pages"}',
  ]);
});
