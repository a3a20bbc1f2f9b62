import { expect, test } from 'bun:test';

import { type Watched, WarningWatch } from '../../src/serve/warningWatch.ts';

test('what makes a database unsafe is told when it comes and when it goes, once each', () => {
  const said: string[] = [];
  const say = (level: string) => (message: string, fields?: object) =>
    said.push(`${level}: ${message} ${JSON.stringify(fields)}`);
  let watched: Watched = { unsafe: null, warnings: [] };
  const watch = new WarningWatch(
    {
      get unsafe() {
        return watched.unsafe;
      },
      get warnings() {
        return watched.warnings;
      },
    },
    { info: say('info'), warn: say('warn'), error: say('error') },
  );
  const states: readonly Watched[] = [
    { unsafe: null, warnings: [] },
    { unsafe: 'fsync', warnings: ['pages'] },
    { unsafe: 'fsync', warnings: ['pages'] },
    { unsafe: null, warnings: ['pages'] },
    { unsafe: null, warnings: [] },
  ];
  for (watched of states) watch.look();
  expect(said).toEqual([
    'error: the database is not safe: this node is not ready {"problem":"fsync"}',
    'warn: the database is less safe than it could be {"problem":"pages"}',
    'info: a problem of the database has ended {"problem":"fsync"}',
    'info: a problem of the database has ended {"problem":"pages"}',
  ]);
});
