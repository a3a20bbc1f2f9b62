import { isOneEditAway, nearestName } from '../core/nearest.ts';
import { type CliError, misused } from './cliError.ts';
import type { Command } from './command.ts';

/** Says that a command is unknown, and which one was probably meant. */
export function unknownCommand(first: string, second: string | undefined, commands: readonly Command[]): CliError {
  const noun = nearestNoun(first, commands);
  const near = noun === null ? null : nearestOf(noun, second, commands);
  const list =
    noun === null || near !== null
      ? 'keystile --help lists them all.'
      : `keystile ${noun} --help lists the commands of ${noun}.`;
  // A second word behind no noun may be a secret: keystile verify KEY.
  const words = noun === null || second === undefined ? [first] : [first, second];
  const written = words.map((word) => (IS_WORD.test(word) ? word : '...')).join(' ');
  return misused(`Unknown command "${written}". ${near === null ? list : `Did you mean "${near}"?`}`);
}

/** What may be a mistyped command. Anything else may be a secret, also one that was imported, and is not repeated. */
const IS_WORD = /^[A-Za-z-]{1,20}$/;

function nearestNoun(first: string, commands: readonly Command[]): string | null {
  const nouns = [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))];
  return nouns.includes(first) ? first : nearestName(first, nouns);
}

/** The command of this noun whose verb is nearest. Null: the noun has several, and none is near. */
function nearestOf(noun: string, second: string | undefined, commands: readonly Command[]): string | null {
  const own = commands.filter(({ name }) => name === noun || name.startsWith(`${noun} `));
  if (own.some(({ name }) => name === noun)) return noun;
  const verbs = own.map(({ name, isDestructive }) => ({ verb: name.slice(noun.length + 1), isDestructive }));
  const harmless = verbs.filter(({ isDestructive }) => isDestructive !== true).map(({ verb }) => verb);
  const destructive = verbs.filter(({ isDestructive }) => isDestructive === true).map(({ verb }) => verb);
  const near = second === undefined ? null : (nearestVerb(second, harmless, destructive) ?? verbForFile(noun, own));
  return near === null ? null : `${noun} ${near}`;
}

/** `backup ./FILE` is short for `backup create ./FILE`. A word that is no path may be a mistyped verb, and is not taken for a file. */
export function inFull(words: readonly string[], commands: readonly Command[]): readonly string[] {
  const [noun = '', file = '', ...rest] = words;
  if (file.startsWith('-') || !/[./]/.test(file)) return words;
  const verb = verbForFile(noun, commands);
  return verb === null ? words : [noun, verb, file, ...rest];
}

/** A word that is near no verb may be the file that `create` makes: `keystile backup FILE`. */
function verbForFile(noun: string, own: readonly Command[]): string | null {
  return own.some(({ name, operands }) => name === `${noun} create` && operands[0] === 'FILE') ? 'create' : null;
}

/** What takes something away is suggested only to whoever has nearly written it. */
function nearestVerb(written: string, harmless: readonly string[], destructive: readonly string[]): string | null {
  const meant = destructive.find((verb) => verb === written || isOneEditAway(written, verb));
  const near = nearestName(written, harmless);
  if (meant === undefined) return near;
  return near !== null && isOneEditAway(written, near) ? near : meant;
}
