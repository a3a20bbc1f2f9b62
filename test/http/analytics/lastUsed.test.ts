import { afterEach, beforeEach, describe, expect, test } from 'bun:test';

import { AnalyticsApiSetup, NOW } from './analyticsSetup.ts';

let setup: AnalyticsApiSetup;
beforeEach(async () => {
  setup = await AnalyticsApiSetup.make();
});
afterEach(() => setup.service.close());

const AT = Date.parse(NOW);

async function writeDown(): Promise<void> {
  await setup.service.engine.countWriting.flush();
  await setup.service.engine.countWriting.fold();
}

async function shown(keyId: string): Promise<unknown> {
  await writeDown();
  return (await setup.service.ok('/v1/keys.getKey', { keyId })).lastUsedAt;
}

describe('lastUsedAt', () => {
  test('is absent until the first verification, then the instant of one, in getKey and listKeys', async () => {
    const { key, keyId } = await setup.createKey();
    expect(await shown(keyId)).toBeUndefined();
    setup.service.clock.set(AT + 1_234);
    await setup.service.verify(key);
    expect(await shown(keyId)).toBe(AT + 1_234);
    const { keys } = await setup.service.ok('/v1/apis.listKeys', { apiId: setup.apiId });
    expect(keys.map(({ lastUsedAt }: { lastUsedAt: number }) => lastUsedAt)).toEqual([AT + 1_234]);
  });

  test.each([
    ['packed', {}],
    ['kept as it is', { name: 'a name' }],
  ])('of a key that is %s moves at most once a minute', async (_how, fields) => {
    const { key, keyId } = await setup.createKey(fields);
    const after = async (milliseconds: number) => {
      setup.service.clock.set(AT + milliseconds);
      await setup.service.verify(key);
      return ((await shown(keyId)) as number) - AT;
    };
    expect([await after(1_000), await after(60_999), await after(61_000), await after(61_001)]).toEqual([
      1_000, 1_000, 61_000, 61_000,
    ]);
    // Two uses that are written down together: the later one counts.
    setup.service.clock.set(AT + 200_000);
    await setup.service.verify(key);
    expect(await after(300_500)).toBe(300_500);
  });

  test('a refused verification is a use too', async () => {
    const { key, keyId } = await setup.createKey({ enabled: false });
    await setup.service.verify(key);
    expect(await shown(keyId)).toBe(AT + 1);
  });

  test('stays after a restart', async () => {
    const { key, keyId } = await setup.createKey();
    await setup.service.verify(key);
    await writeDown();
    await setup.service.restart();
    expect((await setup.service.ok('/v1/keys.getKey', { keyId })).lastUsedAt).toBe(AT + 1);
  });
});
