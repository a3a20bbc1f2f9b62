import { expect, test } from 'bun:test';

import { type Watched, WarningWatch } from '../../../../src/storage/postgres/connection/durability.ts';

test('what makes a database unsafeReason is told when it comes and when it goes, once each', () => {
  const logged: string[] = [];
  const say = (level: string) => (message: string, fields?: object) =>
    logged.push(`${level}: ${message} ${JSON.stringify(fields)}`);
  let watched: Watched = { unsafeReason: null, warnings: [] };
  const watch = new WarningWatch(
    {
      get unsafeReason() {
        return watched.unsafeReason;
      },
      get warnings() {
        return watched.warnings;
      },
    },
    { info: say('info'), warn: say('warn'), error: say('error') },
  );
  const states: readonly Watched[] = [
    { unsafeReason: null, warnings: [] },
    { unsafeReason: 'fsync', warnings: ['pages'] },
    { unsafeReason: 'fsync', warnings: ['pages'] },
    { unsafeReason: null, warnings: ['pages'] },
    { unsafeReason: null, warnings: [] },
  ];
  for (watched of states) watch.look();
  expect(logged).toEqual([
    'error: the database is not safe: this node is not ready {"problem":"fsync"}',
    'warn: the database is less safe than it could be {"problem":"pages"}',
    'info: a problem of the database has ended {"problem":"fsync"}',
    'info: a problem of the database has ended {"problem":"pages"}',
  ]);
});
