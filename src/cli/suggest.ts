import { isOneEditAway, nearestWord } from '../basics/nearestName.ts';
import { type CliError, misused } from './cliError.ts';
import type { Command } from './command.ts';
import { userWord } from './words.ts';

/** Says that a command is unknown, and which one was probably meant. */
export function unknownCommand(first: string, second: string | undefined, commands: readonly Command[]): CliError {
  const present = second === undefined ? null : presentName(`${first} ${second}`, commands);
  if (present !== null) return misused(`${first} ${second} is not a command any more. Write keystile ${present}.`);
  const { noun, verb } = inOrder(first, second, commands);
  const { near, list } =
    noun === null ? withoutNoun(verb, second, commands) : { near: nearestOf(noun, verb, commands), list: listOf(noun) };
  // A second word behind no noun may be a secret: keystile verify KEY.
  const words = noun === null || second === undefined ? [first] : [first, second];
  const written = words.map((word) => (IS_WORD.test(word) ? word : '...')).join(' ');
  return misused(`Unknown command "${written}". ${near === null ? list : `Did you mean "${near}"?`}`);
}

/** The command that was called by this name once, with a word that is another one now. */
function presentName(written: string, commands: readonly Command[]): string | null {
  const present = written.replaceAll(/[a-z]+/g, userWord);
  return present !== written && commands.some(({ name }) => name === present) ? present : null;
}

interface Hint {
  readonly near: string | null;
  /** Where the commands are listed, for when none is near. */
  readonly list: string;
}

const listOf = (noun: string): string => `keystile ${noun} --help lists the commands of ${noun}.`;
const LIST = 'keystile --help lists them all.';

function withoutNoun(verb: string | undefined, second: string | undefined, commands: readonly Command[]): Hint {
  if (second === 'version') return { near: '--version', list: LIST };
  const alike = commandsWith(verb, commands);
  if (alike.length > FEW) return { near: null, list: `Name what it applies to, such as "${alike[0]}". ${LIST}` };
  return { near: alike[0] ?? null, list: LIST };
}

/** A verb that more commands have is not enough to suggest one of them. */
const FEW = 2;
/** What may be a mistyped command. Anything else may be a secret, also one that was imported, and is not repeated. */
const IS_WORD = /^[A-Za-z-]{1,20}$/;

/** Words for what has another name here. */
const NOUNS: Readonly<Record<string, string>> = {
  identity: 'customer',
  user: 'customer',
  start: 'serve',
  run: 'serve',
};
const VERBS: Readonly<Record<string, string>> = { add: 'create', ls: 'list', new: 'create', show: 'get' };

interface Meant {
  readonly noun: string | null;
  readonly verb: string | undefined;
}

/** The noun and the verb, in the right order: `list keys` and `list-keys` are `key list`. A verb alone has no noun. */
function inOrder(first: string, second: string | undefined, commands: readonly Command[]): Meant {
  const nouns = [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))];
  const verbs = new Set(commands.map(({ name }) => name.split(' ')[1] ?? ''));
  const isVerb = (word: string): boolean => verbs.has(VERBS[word] ?? word);
  const known = nounOf(first, nouns);
  if (known !== null) return { noun: known, verb: second };
  const [one = '', other] = second === undefined && IS_WORD.test(first) ? first.split(/-|(?=[A-Z])/) : [first, second];
  if (isVerb(one)) return { noun: other === undefined ? null : nounOf(other.toLowerCase(), nouns), verb: one };
  return { noun: nearestWord(first, nouns), verb: second };
}

/** Also in the plural, and by another name. */
function nounOf(word: string, nouns: readonly string[]): string | null {
  const singular = word.replace(/ies$/, 'y').replace(/s$/, '');
  return [word, singular].map((each) => NOUNS[each] ?? each).find((each) => nouns.includes(each)) ?? null;
}

/** The commands with this verb, where only the verb was written: first that of keys. */
function commandsWith(verb: string | undefined, commands: readonly Command[]): readonly string[] {
  if (verb === undefined) return [];
  const wanted = VERBS[verb] ?? verb;
  const found = commands.filter(({ name }) => name.split(' ')[1] === wanted).map(({ name }) => name);
  return found.toSorted((a, b) => Number(b.startsWith('key ')) - Number(a.startsWith('key ')));
}

/** The command of this noun whose verb is nearest. Null: the noun has several, and none is near. */
function nearestOf(noun: string, verb: string | undefined, commands: readonly Command[]): string | null {
  const own = commands.filter(({ name }) => name === noun || name.startsWith(`${noun} `));
  if (own.some(({ name }) => name === noun)) return noun;
  const verbs = own.map(({ name, isDestructive }) => ({ verb: name.slice(noun.length + 1), isDestructive }));
  const harmless = verbs.filter(({ isDestructive }) => isDestructive !== true).map((each) => each.verb);
  const destructive = verbs.filter(({ isDestructive }) => isDestructive === true).map((each) => each.verb);
  if (verb === undefined) return null;
  const near = nearestVerb(VERBS[verb] ?? verb, harmless, destructive) ?? verbForFile(noun, own);
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
  const near = nearestWord(written, harmless);
  if (meant === undefined) return near;
  return near !== null && isOneEditAway(written, near) ? near : meant;
}
