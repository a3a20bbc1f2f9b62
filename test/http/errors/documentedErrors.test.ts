import { expect, test } from 'bun:test';

import { TestService } from '../../support/service.ts';
import { NAMED_RECORDS, NAMING_ROUTES } from './cases/absent.ts';
import { ABSENT, type Records } from './records.ts';

test('a 404 is documented for every route that names a record', () => {
  const undocumented = NAMING_ROUTES.filter(({ errors }) => !errors.includes('NOT_FOUND'));
  expect(undocumented.map(({ path }) => path)).toEqual([]);
});

test('records of every kind are named by some route', () => {
  expect([...NAMED_RECORDS].toSorted()).toEqual((Object.keys(ABSENT) as (keyof Records)[]).toSorted());
});

test('every call that a quota can refuse has a 412 in /openapi.json', async () => {
  const service = await TestService.start();
  const { body } = await service.call('/openapi.json', undefined, { method: 'GET' });
  await service.close();
  const methods = ['apis.createApi', 'keys.createKey', 'keys.restoreKey', 'migrations.createKeys'];
  for (const method of methods) {
    const { responses } = body.paths[`/v1/${method}`].post;
    expect([method, Object.keys(responses)]).toEqual([method, expect.arrayContaining(['412'])]);
    const name = responses['412'].$ref.replace('#/components/responses/', '');
    expect(body.components.responses[name].description).toContain('a maximum or quota is reached');
  }
});
