import { describe, expect, test } from 'bun:test';

import { ALL_COMMANDS, inFull, unknownCommand } from '../../src/cli/cli.ts';
import { isOneEditAway } from '../../src/basics/nearestName.ts';
import { makeSecret } from '../../src/core/secret.ts';

const NAMES = new Set(ALL_COMMANDS.map(({ name }) => name));
const DESTRUCTIVE = new Set(ALL_COMMANDS.filter(({ isDestructive }) => isDestructive === true).map(({ name }) => name));

function suggestionFor(words: string): string | null {
  const [first = '', second] = words.split(' ');
  return /Did you mean "(.*)"\?$/.exec(unknownCommand(first, second, ALL_COMMANDS).message)?.[1] ?? null;
}

/** The text with one mistake: a character left out, doubled, replaced, or swapped with the next. */
function misspelled(text: string): string[] {
  return Array.from(text, (character, i) => {
    const [before, after] = [text.slice(0, i), text.slice(i + 1)];
    const swapped = `${before}${after.charAt(0)}${character}${after.slice(1)}`;
    return [
      before + after,
      before + character + character + after,
      `${before}x${after}`,
      `${before}e${after}`,
      swapped,
    ];
  })
    .flat()
    .filter((each) => each !== '' && each !== text);
}

describe('suggestions', () => {
  test('a word in the place of a verb is not repeated when it is a secret', () => {
    // Those that were imported have no checksum.
    for (const secret of [makeSecret('demo', new Uint8Array(16).fill(7)), 'sk_live_abc', 'a'.repeat(21)]) {
      for (const [first, second, told] of [
        ['key', secret, 'Unknown command "key ...".'],
        [secret, undefined, 'Unknown command "...".'],
        ['backup', secret, 'Unknown command "backup ...".'],
        ['keey', secret, 'Unknown command "keey ...".'],
        ['verify', secret, 'Unknown command "verify". Did you mean "key verify"?'],
      ] as const) {
        const { message } = unknownCommand(first, second, ALL_COMMANDS);
        expect(message).toStartWith(told);
        expect(message).not.toContain(secret);
      }
    }
  });

  test('the verb of a backup may be left out before a path, and never before what may be another verb', () => {
    const full = (words: string): string => inFull(words.split(' '), ALL_COMMANDS).join(' ');
    expect(full('backup keys.backup --force')).toBe('backup create keys.backup --force');
    expect(full('backup /mnt/keys')).toBe('backup create /mnt/keys');
    for (const words of [
      'backup',
      'backup verfy a.backup',
      'backup keys',
      'backup --data=./data',
      'backup verify a.backup',
      'api a.backup',
      'data a.ndjson',
    ])
      expect(full(words)).toBe(words);
  });

  test('no mistake in a harmless command leads to one that takes something away', () => {
    const led: string[] = [];
    for (const name of NAMES) {
      if (DESTRUCTIVE.has(name)) continue;
      const [noun = '', verb] = name.split(' ');
      const typos = [
        ...(verb === undefined ? [] : misspelled(verb).map((typo) => `${noun} ${typo}`)),
        ...misspelled(noun).map((typo) => [typo, verb ?? []].flat().join(' ')),
      ];
      for (const typo of typos) {
        const near = NAMES.has(typo) ? null : suggestionFor(typo);
        if (near !== null && DESTRUCTIVE.has(near)) led.push(`${typo} -> ${near}`);
      }
    }
    expect(led).toEqual([]);
  });

  test.each([
    ['key gett', 'key get'],
    ['key delte', 'key delete'],
    ['identities get', 'customer get'],
    ['rols list', 'role list'],
    ['webhook deliverys', 'webhook deliveries'],
    ['audt', 'audit'],
    ['usage week', 'usage'],
    ['backup keys', 'backup create'],
    ['backup restor', 'backup restore'],
    ['key destroy', null],
    ['plan remove', null],
    // The verb first, a plural, another name, one word.
    ['list keys', 'key list'],
    ['list-keys', 'key list'],
    ['createKey', 'key create'],
    ['create api', 'api create'],
    ['delete key', 'key delete'],
    ['verify', 'key verify'],
    ['customers list', 'customer list'],
    ['ls apis', 'api list'],
    ['new key', 'key create'],
    ['start', 'serve'],
    ['show version', '--version'],
    ['get version', '--version'],
    // Many have this verb.
    ['list', null],
    ['create', null],
    ['show', null],
    // Nothing is near: no other command is suggested.
    ['users', null],
    ['init', null],
    ['root', null],
    ['watch', null],
    ['revoke key', null],
    ['frobnicate key', null],
  ])('%s suggests %p', (written, near) => expect(suggestionFor(written)).toBe(near));

  test('a verb that many have asks of what', () => {
    expect(unknownCommand('list', undefined, ALL_COMMANDS).message).toBe(
      'Unknown command "list". Name what it applies to, such as "key list". keystile --help lists them all.',
    );
  });

  test('a noun with an unknown verb names the help of the noun', () => {
    expect(unknownCommand('plan', 'frobnicate', ALL_COMMANDS).message).toBe(
      'Unknown command "plan frobnicate". keystile plan --help lists the commands of plan.',
    );
  });

  test('one edit is a character more, less or other, or two swapped', () => {
    const near = ['delete', 'delet', 'deletee', 'dlete', 'deltee', 'xelete', 'edlete'];
    expect(near.filter((word) => !isOneEditAway(word, 'delete'))).toEqual([]);
    expect(['get', 'dele', 'release', 'deleeett', ''].filter((word) => isOneEditAway(word, 'delete'))).toEqual([]);
  });
});
