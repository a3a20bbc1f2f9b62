import type { Command } from '../command.ts';
import { flagsOf } from '../help.ts';
import { isSettingFlag } from '../settings.ts';

/** What can be typed, as every shell needs it. */
export interface Vocabulary {
  /** The first words, each with what it does. */
  readonly nouns: readonly Word[];
  readonly commands: readonly Completed[];
}

export interface Word {
  readonly text: string;
  readonly meaning: string;
}

export interface Completed {
  readonly noun: string;
  /** Empty: the noun is the whole command. */
  readonly verb: string;
  readonly meaning: string;
  readonly flags: readonly CompletedFlag[];
  readonly takesFile: boolean;
}

export interface CompletedFlag extends Word {
  /** Null: the flag is a switch. Empty: any value. */
  readonly values: readonly string[] | null;
}

/** Settings that are useful with every command. `serve` has all of them. */
const USUAL_SETTINGS = ['url', 'data'];

export function vocabularyOf(commands: readonly Command[]): Vocabulary {
  const completed = commands.map(toCompleted);
  const byNoun = Map.groupBy(completed, ({ noun }) => noun);
  const nouns = [...byNoun].map(([text, own]) => ({ text, meaning: nounMeaning(own) }));
  return { nouns, commands: completed };
}

function nounMeaning(own: readonly Completed[]): string {
  const alone = own.find(({ verb }) => verb === '');
  return alone?.meaning ?? own.map(({ verb }) => verb).join(', ');
}

function toCompleted(command: Command): Completed {
  const { name, summary, operands } = command;
  const [noun = '', verb = ''] = name.split(' ');
  const isUsual = (flag: string): boolean => noun === 'serve' || USUAL_SETTINGS.includes(flag);
  return {
    noun,
    verb,
    meaning: firstSentence(summary),
    flags: Object.entries(flagsOf(command))
      .filter(([flag, spec]) => !isSettingFlag(flag, spec) || isUsual(flag))
      .map(([text, { value, meaning }]) => ({
        text,
        meaning: firstSentence(meaning),
        values: value === null ? null : value.includes('|') ? value.split('|') : [],
      })),
    takesFile: operands.some((operand) => operand.includes('FILE')),
  };
}

function firstSentence(text: string): string {
  return /^.*?\.(?= |$)/.exec(text)?.[0].slice(0, -1) ?? text;
}
