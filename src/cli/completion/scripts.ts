import type { Completed, CompletedFlag, Vocabulary, Word } from './words.ts';

/** The completion of each shell as a script. It holds all words itself: pressing Tab starts no program. */
export const SCRIPTS: Readonly<Record<string, (vocabulary: Vocabulary) => string>> = { bash, zsh, fish };

/** Single quotes keep every other character as it is, in all three shells. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function wordsOf(words: readonly Word[]): string {
  return words.map(({ text }) => text).join(' ');
}

function flagsOf({ flags }: Completed): string {
  return flags.map(({ text }) => `--${text}`).join(' ');
}

function nameOf({ noun, verb }: Completed): string {
  return `${noun} ${verb}`.trim();
}

/** Pairs of a command and its flag that takes one of some words. */
function choicesOf({ commands }: Vocabulary): { command: Completed; flag: CompletedFlag; values: string }[] {
  return commands.flatMap((command) =>
    command.flags.flatMap((flag) =>
      flag.values === null || flag.values.length === 0 ? [] : { command, flag, values: flag.values.join(' ') },
    ),
  );
}

function verbsByNoun({ commands }: Vocabulary): [string, readonly Completed[]][] {
  return [
    ...Map.groupBy(
      commands.filter(({ verb }) => verb !== ''),
      ({ noun }) => noun,
    ),
  ];
}

/** A word of its own at each place: the noun, the verb, then flags. Anything else is left to file names. */
function bash(vocabulary: Vocabulary): string {
  const verbs = verbsByNoun(vocabulary).map(
    ([noun, own]) => `      ${noun}) words='${own.map(({ verb }) => verb).join(' ')}' ;;`,
  );
  const flags = vocabulary.commands.map((command) => `    ${quoted(nameOf(command))}) flags='${flagsOf(command)}' ;;`);
  const choices = choicesOf(vocabulary).map(
    ({ command, flag, values }) => `    ${quoted(`${nameOf(command)} --${flag.text}`)}) words='${values}' ;;`,
  );
  return `# Completion of keystile for bash. Load it with: source <(keystile completion bash)
_keystile() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} words='' flags='' name=\${COMP_WORDS[1]}
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='${wordsOf(vocabulary.nouns)} --help --version'
  elif [ "$COMP_CWORD" -eq 2 ] && [ "\${current#-}" = "$current" ]; then
    case $name in
${verbs.join('\n')}
    esac
  fi
  case " ${verbsByNoun(vocabulary)
    .map(([noun]) => noun)
    .join(' ')} " in
    *" $name "*) name="$name \${COMP_WORDS[2]}" ;;
  esac
  case $name in
${flags.join('\n')}
  esac
  case "$name $previous" in
${choices.join('\n')}
  esac
  if [ "\${current#-}" != "$current" ]; then words="$words $flags"; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _keystile keystile
`;
}

/** `_describe` splits a word from its meaning at the first colon. */
function described(words: readonly Word[]): string {
  return words.map(({ text, meaning }) => quoted(`${text.replaceAll(':', String.raw`\:`)}:${meaning}`)).join(' ');
}

function zsh(vocabulary: Vocabulary): string {
  const verbs = verbsByNoun(vocabulary).map(
    ([noun, own]) =>
      `      ${noun}) found=(${described(own.map(({ verb, meaning }) => ({ text: verb, meaning })))}) ;;`,
  );
  const flags = vocabulary.commands.map(
    (command) =>
      `    ${quoted(nameOf(command))}) flags=(${described(command.flags.map(({ text, meaning }) => ({ text: `--${text}`, meaning })))}) ;;`,
  );
  const choices = choicesOf(vocabulary).map(
    ({ command, flag, values }) =>
      `    ${quoted(`${nameOf(command)} --${flag.text}`)}) compadd -- ${values}; return ;;`,
  );
  return `#compdef keystile
# Completion of keystile for zsh. Load it with: source <(keystile completion zsh)
_keystile() {
  local -a found flags
  local name=$words[2] current=$words[CURRENT] previous=$words[CURRENT-1]
  if (( CURRENT == 2 )); then
    found=(${described(vocabulary.nouns)})
  elif (( CURRENT == 3 )); then
    case $name in
${verbs.join('\n')}
    esac
  fi
  case " ${verbsByNoun(vocabulary)
    .map(([noun]) => noun)
    .join(' ')} " in
    *" $name "*) name="$name $words[3]" ;;
  esac
  case $name in
${flags.join('\n')}
  esac
  case "$name $previous" in
${choices.join('\n')}
  esac
  if [[ $current == -* ]]; then _describe 'flag' flags
  elif (( $#found )); then _describe 'command' found
  else _files
  fi
}
compdef _keystile keystile
`;
}

function fish(vocabulary: Vocabulary): string {
  const nouns = vocabulary.nouns.map(
    ({ text, meaning }) => `complete -c keystile -n '__keystile_at 1' -a ${quoted(text)} -d ${fishQuoted(meaning)}`,
  );
  const verbs = vocabulary.commands
    .filter(({ verb }) => verb !== '')
    .map(
      ({ noun, verb, meaning }) =>
        `complete -c keystile -n '__keystile_at 2 ${noun}' -a ${quoted(verb)} -d ${fishQuoted(meaning)}`,
    );
  const flags = vocabulary.commands.flatMap((command) => command.flags.map((flag) => fishFlag(command, flag)));
  const files = vocabulary.commands
    .filter(({ takesFile }) => takesFile)
    .map((command) => `complete -c keystile -n '__keystile_is ${nameOf(command)}' -F`);
  return `# Completion of keystile for fish. Load it with: keystile completion fish | source
function __keystile_at
    set -l given (commandline -opc)
    test (count $given) -eq $argv[1]; or return 1
    test (count $argv) -eq 1; or test "$given[2]" = "$argv[2]"
end
function __keystile_is
    set -l given (commandline -opc)
    test "$given[2]" = "$argv[1]"; or return 1
    test (count $argv) -eq 1; or test "$given[3]" = "$argv[2]"
end
complete -c keystile -f
${[...nouns, ...verbs, ...flags, ...files].join('\n')}
`;
}

function fishFlag(command: Completed, { text, meaning, values }: CompletedFlag): string {
  const value = values === null ? '' : values.length === 0 ? ' -r' : ` -x -a ${quoted(values.join(' '))}`;
  return `complete -c keystile -n '__keystile_is ${nameOf(command)}' -l ${text}${value} -d ${fishQuoted(meaning)}`;
}

/** In the single quotes of fish, a backslash escapes a quote and itself. */
function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', String.raw`\\`).replaceAll("'", String.raw`\'`)}'`;
}
