import { expect, test } from 'bun:test';

import { KeystileNode } from '../../../tools/cluster/node.ts';
import { TempFolder } from '../../process/process.ts';
import { TestService } from '../../support/service.ts';
import { data, emptyDatabase } from './moved.ts';

test('a retry to the new service gets the first answer and spends nothing, on PostgreSQL and back in a data folder', async () => {
  using folder = new TempFolder();
  // The node that answers later has the real clock.
  const startsAt = Date.now();
  const service = await TestService.start({ startsAt });
  const { rootKey } = service;
  const { key } = await service.createKey({ remaining: 10 });
  const request = { key, idempotencyKey: 'spent-once', remaining: { cost: 3 } };
  const { requestId: _, ...first } = await service.ok('/v1/keys.verifyKey', request);
  expect(first).toMatchObject({ valid: true, remaining: 7 });
  await service.stop();
  await data(['export', folder.join('there'), '--move'], { KEYSTILE_DATA: service.folder });

  const database = await emptyDatabase();
  await data(['import', folder.join('there')], database);
  {
    const databaseUrl = database['KEYSTILE_DATABASE_URL'] ?? '';
    await using node = await KeystileNode.start({ location: 'eu', databaseUrl, rootKey });
    expect((await node.verify(request)).body).toEqual({ ...first, requestId: expect.any(String) });
    expect((await node.verify({ key })).body).toMatchObject({ valid: true, remaining: 6 });
    await node.stop();
  }
  await data(['export', folder.join('back'), '--move'], database);
  await data(['import', folder.join('back')], { KEYSTILE_DATA: folder.join('data') });
  const back = await TestService.start({ folder: folder.join('data'), startsAt });
  back.rootKey = rootKey;
  expect(await back.ok('/v1/keys.verifyKey', request)).toEqual({ ...first, requestId: expect.any(String) });
  expect(await back.verify(key)).toMatchObject({ valid: true, remaining: 5 });
  await back.close();
  await service.close();
});
