import { expect, test } from 'bun:test';

import { programName } from '../../src/cli/output/programName.ts';

test.each([
  ['keystile', {}],
  ['npm run -s keystile --', { npm_lifecycle_event: 'start', npm_package_name: 'keystile' }],
  ['npx keystile', { npm_lifecycle_event: 'npx' }],
  ['npx --no keystile', { npm_lifecycle_event: 'dev', npm_package_name: 'shop' }],
])('the program is called as %s', (name, environment) => {
  expect(programName(environment)).toBe(name);
});
