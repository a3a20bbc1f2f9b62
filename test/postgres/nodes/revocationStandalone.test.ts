import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';

import type { SilentNode } from '../../support/silentNode.ts';
import { useSilentPair } from '../../support/silentPair.ts';

setDefaultTimeout(60_000);

const pair = useSilentPair();
let changing: SilentNode;
let silent: SilentNode;
let made = 0;

beforeAll(() => {
  ({ changing, silent } = pair());
});

describe('a node that hears nothing and spends a strict standalone limit', () => {
  const NUMBERS = { limit: 10, duration: 3_600_000 };
  const BLOCKED = { ...NUMBERS, limit: 0, async: false };
  const set = (namespaceName: string, identifier: string, fields: object) =>
    changing.ok('ratelimits.setOverride', { namespaceName, identifier, ...fields });
  const remove = (namespaceName: string, identifier: string) =>
    changing.ok('ratelimits.deleteOverride', { namespaceName, identifier });

  /** What is there before, what is changed, and the limit that counts from then on. */
  const OVERRIDES: Readonly<
    Record<string, { before?: string; change: (namespace: string) => Promise<unknown>; limit: number }>
  > = {
    'an override of the identifier is set': { change: (namespace) => set(namespace, 'user-1', BLOCKED), limit: 0 },
    'an override of the identifier is changed': {
      before: 'user-1',
      change: (namespace) => set(namespace, 'user-1', BLOCKED),
      limit: 0,
    },
    'an override of the identifier is removed': {
      before: 'user-1',
      change: (namespace) => remove(namespace, 'user-1'),
      limit: 10,
    },
    'an override of the identifier is removed and set again': {
      before: 'user-1',
      change: async (namespace) => {
        await remove(namespace, 'user-1');
        await set(namespace, 'user-1', BLOCKED);
      },
      limit: 0,
    },
    'a pattern is set': { change: (namespace) => set(namespace, 'user-*', BLOCKED), limit: 0 },
    'a pattern is changed': {
      before: 'user-*',
      change: (namespace) => set(namespace, 'user-*', BLOCKED),
      limit: 0,
    },
    'a pattern is removed': { before: 'user-*', change: (namespace) => remove(namespace, 'user-*'), limit: 10 },
    'a longer pattern is set': {
      before: 'user-*',
      change: (namespace) => set(namespace, 'user-1*', BLOCKED),
      limit: 0,
    },
    'an override takes the place of a pattern': {
      before: 'user-*',
      change: (namespace) => set(namespace, 'user-1', BLOCKED),
      limit: 0,
    },
  };

  test.concurrent.each(Object.entries(OVERRIDES))('sees at once that %s', async (_name, { before, change, limit }) => {
    const namespace = `ns_${made++}`;
    const asked = { namespace, identifier: 'user-1', async: false, ...NUMBERS };
    await changing.ok('ratelimits.limit', { ...asked, identifier: 'other' });
    if (before !== undefined) await set(namespace, before, { ...NUMBERS, limit: 7, async: false });
    expect(await silent.ok('ratelimits.limit', asked)).toMatchObject({
      success: true,
      limit: before === undefined ? 10 : 7,
    });
    await change(namespace);
    expect(await silent.ok('ratelimits.limit', asked)).toMatchObject({ success: limit > 0, limit });
  });

  test.concurrent('with others in one call: all are decided anew, and nothing is taken of the first', async () => {
    const namespace = `ns_${made++}`;
    const one = (identifier: string) => ({ namespace, identifier, async: false, ...NUMBERS });
    const limits = [one('user-1'), one('user-2'), { ...one('local'), async: true }];
    expect(await silent.ok('ratelimits.multiLimit', { limits })).toMatchObject({ success: true });
    await set(namespace, 'local', { ...BLOCKED, async: true });
    expect(await silent.ok('ratelimits.multiLimit', { limits })).toMatchObject({ success: false });
    expect(await silent.ok('ratelimits.limit', { ...one('user-1'), cost: 0 })).toMatchObject({ remaining: 9 });
  });
});
