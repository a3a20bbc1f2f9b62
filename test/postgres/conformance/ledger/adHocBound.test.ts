import { expect, test } from 'bun:test';

import { AppError } from '../../../../src/core/errors.ts';
import { COMMAND_LINE } from '../../../../src/engine/admin/change/requireRight.ts';
import type { KeyPatch } from '../../../../src/engine/admin/createKeys.ts';
import type { Engine } from '../../../../src/engine/engine.ts';
import type { LimitRequest } from '../../../../src/engine/verify/request.ts';
import { describePort } from '../adapters.ts';
import { engineOn } from '../engineOn.ts';

const MINUTE_MS = 60_000;
const REFUSAL = 'BAD_REQUEST: There are 100 live ad-hoc limits already, which is the maximum; wait until some expire.';

async function makeKey(engine: Engine, patch: KeyPatch = {}): Promise<string> {
  const { id: apiId } = await engine.apis.create(COMMAND_LINE, 'test api');
  return (await engine.keys.create(COMMAND_LINE, { ...patch, apiId, prefix: null, byteLength: null })).secret;
}

/** The code of the verdict, or the error. */
async function ask(engine: Engine, secretDigest: string, limits: readonly LimitRequest[]): Promise<string> {
  const asked = {
    apiId: null,
    creditCost: 1,
    permissions: null,
    tags: null,
    idempotency: null,
    mayVerify: null,
    reservation: null,
    isExplained: false,
  };
  try {
    const caller = { address: () => null };
    return (await engine.verifier.verify({ ...asked, secretDigest, olderDigests: null, limits, caller })).code;
  } catch (error) {
    if (error instanceof AppError) return `${error.code}: ${error.message}`;
    throw error;
  }
}

const named = (name: string, async: boolean): LimitRequest => ({ name, limit: 5, durationMs: MINUTE_MS, async });
const many = (count: number, async: boolean, name = 'n'): LimitRequest[] =>
  Array.from({ length: count }, (_, i) => named(`${name}${i}`, async));

/** At most 50 in one request. */
async function open(engine: Engine, key: string, limits: readonly LimitRequest[]): Promise<void> {
  for (let i = 0; i < limits.length; i += 50) expect(await ask(engine, key, limits.slice(i, i + 50))).toBe('VALID');
}

async function refusesBoth(engine: Engine, key: string): Promise<void> {
  for (const async of [true, false]) expect(await ask(engine, key, [named('one more', async)])).toBe(REFUSAL);
}

describePort('ad-hoc limits of both modes', (setup) => {
  test.each([
    [60, 40],
    [99, 1],
    [1, 99],
    [100, 0],
    [0, 100],
  ])('%i local and %i strict ones are 100: the next of either is refused', async (local, strict) => {
    const engine = engineOn(setup().storage);
    for (const isLocalFirst of [true, false]) {
      const key = await makeKey(engine);
      const parts = [many(local, true), many(strict, false)];
      for (const part of isLocalFirst ? parts : parts.toReversed()) await open(engine, key, part);
      await refusesBoth(engine, key);
      // Those that there are go on.
      await open(engine, key, [...many(local, true), ...many(strict, false)]);
    }
  });

  test('when they have ended there is room for 100 others, in the millisecond in which they end', async () => {
    const { storage, clock } = setup();
    const engine = engineOn(storage);
    const key = await makeKey(engine);
    await open(engine, key, [...many(50, true), ...many(50, false)]);
    clock.advance(MINUTE_MS - 1);
    await refusesBoth(engine, key);
    clock.advance(1);
    await open(engine, key, [...many(30, true, 'next'), ...many(70, false, 'next')]);
    await refusesBoth(engine, key);
  });

  test('of 150 local and 150 strict ones at the same time 100 are opened', async () => {
    const engine = engineOn(setup().storage);
    const key = await makeKey(engine);
    const asked = Array.from({ length: 300 }, (_, i) => ask(engine, key, [named(`n${i}`, i % 2 === 0)]));
    const answers = await Promise.all(asked);
    expect(answers.filter((answer) => answer === 'VALID').length).toBe(100);
    expect(answers.filter((answer) => answer === REFUSAL).length).toBe(200);
  });

  test('they are the same 100 after a restart', async () => {
    const first = engineOn(setup().storage);
    const key = await makeKey(first);
    await open(first, key, [...many(50, true), ...many(50, false)]);
    await first.memory.localLimits.sync();
    await setup().reopen();
    await refusesBoth(engineOn(setup().storage), key);
  });

  test('a key with an identity has no more: its own and those of the identity are counted together', async () => {
    const engine = engineOn(setup().storage);
    for (const isKeyFirst of [true, false]) {
      const calls = [true, false].map((async) => ({ name: `calls ${async}`, limit: 9, durationMs: 1000, async }));
      const externalId = `owner ${isKeyFirst}`;
      const key = await makeKey(engine, { externalId, otherLimits: calls });
      // A limit of the key with another duration counts for the key; one that is configured nowhere for the identity.
      const own = Array.from({ length: 25 }, (_, i) =>
        calls.map(({ name }) => ({ name, durationMs: 2 * MINUTE_MS + 1000 * i })),
      );
      const openOwn = async () => {
        for (const limits of own) expect(await ask(engine, key, limits)).toBe('VALID');
      };
      const openShared = () => open(engine, key, [...many(25, true), ...many(25, false)]);
      for (const part of isKeyFirst ? [openOwn, openShared] : [openShared, openOwn]) await part();
      await refusesBoth(engine, key);
      for (const { name } of calls) expect(await ask(engine, key, [{ name, durationMs: 7000 }])).toBe(REFUSAL);
      // Another key of the same identity brings none of its own: it may fill up what the first one left of its own.
      const other = await makeKey(engine, { externalId });
      await open(engine, other, [...many(25, true, 'other'), ...many(25, false, 'other')]);
      await refusesBoth(engine, other);
    }
  });

  test('configured limits are not counted, also not those that were loaded after a restart', async () => {
    const configured = Array.from({ length: 40 }, (_, i) => ({ ...named(`c${i}`, true), limit: 9, async: true }));
    const limits = configured.map(({ name, limit, async }) => ({ name, limit, async, durationMs: MINUTE_MS }));
    const first = engineOn(setup().storage);
    const key = await makeKey(first, { otherLimits: limits });
    expect(await ask(first, key, [])).toBe('VALID');
    await first.memory.localLimits.sync();
    await setup().reopen();
    const engine = engineOn(setup().storage);
    await open(engine, key, [...many(50, false), ...many(50, true)]);
    await refusesBoth(engine, key);
  });
});
