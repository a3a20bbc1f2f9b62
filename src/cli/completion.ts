import { repeatable } from '../core/errors.ts';
import { EXIT } from '../serve/exit.ts';
import { misused } from './cliError.ts';
import type { Command } from './command.ts';
import { flagsOf } from './help.ts';
import { isSettingFlag } from './settings.ts';

/** The hidden command that a script calls. Its operands are the words of the command line; the last one is still being written. */
export const COMPLETE = '__complete';

/** Each line of an answer is a word, a tab and its meaning. When the answer is empty, the shell completes names of files. */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `# Completion of keystile for bash. Load it with: source <(keystile completion bash)
_keystile() {
  local word meaning
  COMPREPLY=()
  while IFS=$'\\t' read -r word meaning; do COMPREPLY+=("$word"); done < <("\${COMP_WORDS[0]}" ${COMPLETE} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _keystile keystile
`,
  zsh: `#compdef keystile
# Completion of keystile for zsh. Load it with: source <(keystile completion zsh)
_keystile() {
  local -a found
  local word meaning
  while IFS=$'\\t' read -r word meaning; do found+=("\${word//:/\\\\:}:$meaning"); done < <("$words[1]" ${COMPLETE} "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( $#found )); then _describe 'keystile' found; else _files; fi
}
compdef _keystile keystile
`,
  fish: `# Completion of keystile for fish. Load it with: keystile completion fish | source
function __keystile_words
    set -l given (commandline -opc)
    $given[1] ${COMPLETE} $given[2..-1] (commandline -ct) 2>/dev/null
end
complete -c keystile -f -n 'count (__keystile_words) >/dev/null' -a '(__keystile_words)'
`,
};

export const completionCommand: Command = {
  name: 'completion',
  summary: 'Print a script that completes commands and flags in your shell when you press Tab.',
  operands: ['SHELL'],
  operandMeaning: 'bash, zsh or fish.',
  flags: {},
  takesSettings: false,
  examples: [
    'source <(keystile completion bash)',
    'keystile completion fish > ~/.config/fish/completions/keystile.fish',
  ],
  async run({ io, operands: [shell = ''] }) {
    const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
    if (script === undefined) throw misused(`SHELL must be bash, zsh or fish, got ${repeatable(shell)}.`);
    io.out(script);
    return EXIT.OK;
  },
};

/** Settings that are useful with every command. `serve` has all of them. */
const USUAL_SETTINGS = ['url', 'data'];

/** What can follow these words, each with its meaning: a noun, a verb, a flag, or a word that a flag takes. */
export function completed(commands: readonly Command[], words: readonly string[]): string {
  const current = words.at(-1) ?? '';
  const verbs = words.length === 2 ? verbsOf(commands, words[0] ?? '') : {};
  const offered = words.length < 2 ? nounsOf(commands) : { ...verbs, ...flagsAfter(commands, words) };
  // Flags are many: they are offered to whoever has begun to write one.
  const isOffered = (word: string): boolean => (current === '' ? !word.startsWith('-') : word.startsWith(current));
  const found = Object.entries(offered).filter(([word]) => isOffered(word));
  return found.map(([word, meaning]) => `${word}\t${firstSentence(meaning)}\n`).join('');
}

/** The flags of the command that these words begin with, or the words that the last flag takes. */
function flagsAfter(commands: readonly Command[], words: readonly string[]): Record<string, string> {
  const [noun = '', verb = ''] = words;
  const command = commands.find(({ name }) => name === `${noun} ${verb}`) ?? commands.find(({ name }) => name === noun);
  if (command === undefined) return {};
  const isUsual = (flag: string): boolean => noun === 'serve' || USUAL_SETTINGS.includes(flag);
  const flags = Object.entries(flagsOf(command)).filter(([flag, spec]) => !isSettingFlag(flag, spec) || isUsual(flag));
  const [, asked] = flags.find(([flag]) => `--${flag}` === words.at(-2)) ?? [];
  if (asked?.value?.includes('|') === true)
    return Object.fromEntries(asked.value.split('|').map((word) => [word, asked.meaning]));
  return Object.fromEntries(flags.map(([flag, { meaning }]) => [`--${flag}`, meaning]));
}

/** The first words of all commands. */
function nounsOf(commands: readonly Command[]): Record<string, string> {
  const byNoun = Map.groupBy(commands, ({ name }) => name.split(' ')[0] ?? '');
  const meant = [...byNoun].map(([noun, own]): [string, string] => {
    const alone = own.find(({ name }) => name === noun);
    return [noun, alone?.summary ?? own.map(({ name }) => name.slice(noun.length + 1)).join(', ')];
  });
  return { ...Object.fromEntries(meant), '--help': 'Show the help.', '--version': 'Show the version.' };
}

function verbsOf(commands: readonly Command[], noun: string): Record<string, string> {
  const own = commands.filter(({ name }) => name.startsWith(`${noun} `));
  return Object.fromEntries(own.map(({ name, summary }) => [name.slice(noun.length + 1), summary]));
}

function firstSentence(text: string): string {
  return /^.*?\.(?= |$)/.exec(text)?.[0].slice(0, -1) ?? text;
}
