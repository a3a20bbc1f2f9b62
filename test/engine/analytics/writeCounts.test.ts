import { describe, expect, test } from 'bun:test';

import { StorageOutcomeUnknown, StorageUnavailable } from '../../../src/storage/port/storage.ts';
import { keyIdOf, TallyWorld } from '../../support/analytics.ts';

/** A world in which so many packed keys were valid once. */
function counted(keys: number): TallyWorld {
  const world = new TallyWorld();
  for (let number = 0; number < keys; number++) world.verify(world.pack(number));
  return world;
}

const totalOf = (world: TallyWorld): number =>
  [...world.tallies.sums.values()].reduce((sum, [valid = 0]) => sum + valid, 0);

describe('writing tallies down', () => {
  test('goes in slices under growing numbers; where nothing was counted, nothing is written', async () => {
    const world = counted(120);
    await world.flushing.flush();
    await world.flushing.flush();
    expect(world.tallies.batches).toEqual([
      { batch: 1, size: 50 },
      { batch: 2, size: 50 },
      { batch: 3, size: 20 },
    ]);
    expect(totalOf(world)).toBe(120);
  });

  test('a slice that was refused is kept and sent again as it is; what is counted meanwhile goes in another', async () => {
    const world = counted(1);
    world.tallies.fates = ['refused', 'refused'];
    for (let n = 0; n < 2; n++) {
      expect(await world.flushing.flush().catch((error: unknown) => error)).toBeInstanceOf(StorageUnavailable);
      world.verify(world.pack(0));
    }
    await world.flushing.flush();
    expect(world.tallies.batches.map(({ batch }) => batch)).toEqual([1, 1, 1, 2]);
    expect(world.written()).toEqual([`12:00 api_1 ${keyIdOf(0)}: 3`]);
  });

  test('a slice whose fate is not known is sent again under its number, and added once', async () => {
    for (const fate of ['added in silence', 'lost'] as const) {
      const world = counted(3);
      world.tallies.fates = [fate];
      expect(await world.flushing.flush().catch((error: unknown) => error)).toBeInstanceOf(StorageOutcomeUnknown);
      await world.flushing.flush();
      expect(world.tallies.batches.map(({ batch }) => batch)).toEqual([1, 1]);
      expect(totalOf(world)).toBe(3);
    }
  });

  test('whether apis exist cannot be asked: nothing is lost, and the next try asks again', async () => {
    const world = new TallyWorld();
    world.verify(null, { apiId: 'api_1' });
    const { apis } = world;
    const has = apis.has.bind(apis);
    apis.has = () => {
      throw new StorageUnavailable('away');
    };
    expect(await world.flushing.flush().catch((error: unknown) => error)).toBeInstanceOf(StorageUnavailable);
    apis.has = has;
    await world.flushing.flush();
    expect([world.written(), world.lookups.length]).toEqual([['12:00 api_1: 0,1'], 2]);
  });

  test('all that was counted before the call is written when it returns, also beside one that takes its time', async () => {
    const world = counted(300);
    const released = Promise.withResolvers<void>();
    const slow = world.flushing.flush(() => released.promise);
    for (let turn = 0; turn < 10 && world.tallies.batches.length === 0; turn++) await Promise.resolve();
    for (let number = 0; number < 300; number++) world.verify(world.pack(number));
    await world.flushing.flush();
    expect(totalOf(world)).toBe(600);
    released.resolve();
    await slow;
    expect(totalOf(world)).toBe(600);
  });

  test('keys that are dropped while it goes on are among what is written', async () => {
    const world = counted(300);
    await world.flushing.flush(async () => world.packed.clear());
    expect(totalOf(world)).toBe(300);
  });

  test('one slice is on its way at a time, however many wait', async () => {
    const world = counted(200);
    let underWay = 0;
    let most = 0;
    const add = world.tallies.add.bind(world.tallies);
    world.tallies.add = async (tallies, batch) => {
      most = Math.max(most, ++underWay);
      await add(tallies, batch);
      underWay--;
    };
    await Promise.all(Array.from({ length: 10 }, () => world.flushing.flush()));
    expect([most, totalOf(world)]).toEqual([1, 200]);
  });

  test('it ends although counting goes on', async () => {
    const world = counted(100);
    const keys = Array.from({ length: 100 }, (_, number) => world.pack(number));
    const add = world.tallies.add.bind(world.tallies);
    world.tallies.add = (tallies, batch) => {
      for (const key of keys) world.verify(key);
      return add(tallies, batch);
    };
    await world.flushing.flush();
    expect(world.tallies.batches.length).toBeLessThanOrEqual(6);
  });

  test('between two slices it rests, after the last one it does not', async () => {
    const world = counted(120);
    let rests = 0;
    await world.flushing.flush(async () => void rests++);
    expect(rests).toBe(2);
  });

  test('what is taken to be written is not added to any more', async () => {
    const world = new TallyWorld();
    const [packed, kept] = [world.pack(1), world.keep(2)];
    const add = world.tallies.add.bind(world.tallies);
    world.tallies.add = (tallies, batch) => {
      const before = tallies.tallies();
      for (const key of [packed, kept]) for (const tags of [null, ['a']]) world.verify(key, { tags });
      expect(tallies.tallies()).toEqual(before);
      return add(tallies, batch);
    };
    for (const key of [packed, kept]) for (const tags of [null, ['a']]) world.verify(key, { tags });
    await world.flushing.flush();
    world.tallies.add = add;
    await world.flushing.flush();
    expect(totalOf(world)).toBe(4 + 4 * (world.tallies.batches.length - 1));
  });

  test('what is written down is brought into the sums step by step, with rests between them', async () => {
    const world = new TallyWorld();
    let rests = 0;
    await world.flushing.fold(async () => ++rests > 0);
    expect([world.tallies.folds, rests]).toEqual([2, 1]);
  });

  test('what is done in steps ends after a step when it is told to', async () => {
    const world = new TallyWorld();
    await world.flushing.fold(async () => false);
    await world.flushing.prune(10_000, async () => false);
    expect([world.tallies.folds, world.tallies.pruned, world.tallies.usesLookedAfter]).toEqual([
      1,
      [['minute', 9_000]],
      [],
    ]);
  });

  test('last uses of keys that are gone are removed a part at a time, all around', async () => {
    const world = new TallyWorld();
    for (let n = 0; n < 3; n++) await world.flushing.prune(10_000);
    expect(world.tallies.usesLookedAfter).toEqual([null, 'key_1', null]);
  });

  test('old counts are removed step by step, each span after its own time', async () => {
    const world = new TallyWorld();
    let rests = 0;
    await world.flushing.prune(10_000, async () => ++rests > 0);
    expect(world.tallies.pruned).toEqual([
      ['minute', 9_000],
      ['minute', 9_000],
      ['hour', 8_000],
      ['hour', 8_000],
      ['day', 7_000],
      ['day', 7_000],
    ]);
    expect(rests).toBe(3);
  });
});
