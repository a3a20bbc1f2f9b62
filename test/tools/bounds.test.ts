import { describe, expect, test } from 'bun:test';

import { isTooSlow, MAX_GROWTH, nameOf, USUAL, usualOf } from '../../tools/bounds/gates.ts';
import { managementInputs } from '../../tools/bounds/managementInputs.ts';
import { openInputs } from '../../tools/bounds/openInputs.ts';

describe('the gates of npm run bounds', () => {
  const targets = { apiId: 'api_1', key: 'key_of_a_test' };
  const inputs = [...openInputs(targets), ...managementInputs(targets)];

  test('every input has a usual value, and every usual value an input', () => {
    expect(inputs.map(nameOf).sort()).toEqual(Object.keys(USUAL).sort());
  });

  test('an input that becomes ten times slower fails, even when the machine measures half of it', () => {
    for (const input of inputs) {
      const tenfold = usualOf(input) * 10;
      expect([nameOf(input), isTooSlow(input, tenfold), isTooSlow(input, tenfold / 2)]).toEqual([
        nameOf(input),
        true,
        true,
      ]);
    }
  });

  test('no input stands at its gate: at twice its usual value it passes', () => {
    expect(MAX_GROWTH).toBeGreaterThan(2);
    for (const input of inputs)
      expect([nameOf(input), isTooSlow(input, usualOf(input) * 2)]).toEqual([nameOf(input), false]);
  });
});
