import { describe, expect, test } from 'bun:test';

import { runToEnd } from '../process/process.ts';

const sim = (...args: readonly string[]) => runToEnd({ command: [process.execPath, 'tools/sim/main.ts', ...args] });

/** What a world with a planted bug answers. It has a process of its own, because a world takes over the timers. */
function planted(patch: string): Promise<{ readonly stdout: string }> {
  const program = `
    import { FAULTS, World } from './tools/sim/world.ts';
    ${patch}
    await World.play({ seed: 3, calls: 1_500, nodes: 2, cases: 20, faults: FAULTS }).then(
      () => console.log('nothing found'),
      (error) => console.log(error.message),
    );`;
  return runToEnd({ command: [process.execPath, '-e', program] });
}

describe('the simulation', () => {
  test('plays worlds in which no promise is broken, and the same seed plays the same world', async () => {
    const withoutSpeed = (text: string): string => text.replace(/, \d+ a minute/, '');
    const [once, again] = await Promise.all([
      sim('--worlds', '2', '--calls', '600', '--seed', '40'),
      sim('--worlds', '2', '--calls', '600', '--seed', '40'),
    ]);
    expect(once.stdout).toEndWith('No promise was broken.\n');
    expect(once.stdout).toMatch(/^faults: \d+ \w+/m);
    expect(withoutSpeed(again.stdout)).toBe(withoutSpeed(once.stdout));
  });

  test.each([
    [
      'local limits that always allow',
      `import { LocalLimits } from './src/engine/localLimits.ts'; LocalLimits.prototype.allows = () => true;`,
      /of at most \d+ in the window/,
    ],
    [
      'a cache that is never dropped',
      `import { KeyCache } from './src/engine/cache/keyCache.ts';
       for (const name of ['drop', 'dropIdentity', 'dropApi', 'clear']) KeyCache.prototype[name] = () => {};`,
      /the key was not usable for longer than the node may be behind/,
    ],
    [
      'a freshness that always says yes',
      `import { PostgresFreshness } from './src/storage/postgres/freshness/freshness.ts';
       PostgresFreshness.prototype.mayUseCache = () => true;`,
      /not usable for longer|usable for longer/,
    ],
  ])('finds %s', async (_name, patch, found) => {
    expect((await planted(patch)).stdout).toMatch(found);
  });

  test('says which number is wrong', async () => {
    const { code, stderr } = await sim('--worlds', 'some');
    expect([code, stderr]).toEqual([2, '--worlds must be a whole number above 0, got "some"\n']);
  });
});
