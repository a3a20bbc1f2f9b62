import { CliError, WrongSettings } from './cliError.ts';

/** Names of flags and arguments by the member of the request that they set, such as `ratelimit.limit`. */
export type FlagNames = Readonly<Record<string, string>>;

/** Runs `work`. An error of the service then names flags in place of members of the request. */
export async function namingFlags<T>(names: FlagNames, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof CliError && !(error instanceof WrongSettings) ? inFlags(error, names) : error;
  }
}

function inFlags({ exitCode, lines, details }: CliError, names: FlagNames): CliError {
  const paths = details.issues?.map(({ path }) => path) ?? [];
  const named = lines.map((line, i) => {
    const isIssue = details.issues?.[i]?.message === line;
    return isIssue ? sentence(withCamelCase(withPath(line, paths[i] ?? '', names), names)) : withCamelCase(line, names);
  });
  return new CliError(exitCode, [...new Set(named)], details);
}

/** Issues begin with their path: `refill.amount must be ...` becomes `--refill (amount) must be ...`. */
function withPath(line: string, path: string, names: FlagNames): string {
  if (path === '' || !line.startsWith(path)) return line;
  const known = Object.keys(names)
    .filter((name) => path === name || (path.startsWith(name) && /[.[]/.test(path.charAt(name.length))))
    .sort((a, b) => b.length - a.length)[0];
  if (known === undefined) return line;
  const inner = path
    .slice(known.length)
    .replace(/^\[(\d+)\]/, (_, index: string) => `number ${Number(index) + 1}`)
    .replace(/^\./, '')
    .replace(/(?<=^number \d+)\./, ', ');
  return `${names[known]}${inner === '' ? '' : ` (${inner})`}${line.slice(path.length)}`;
}

/** A name in camel case is no English word: it is a member of the request wherever it stands. */
function withCamelCase(line: string, names: FlagNames): string {
  const named = line
    .replaceAll(/\bthis ([a-z]+(?:[A-Z][a-z]+)+)\b/g, (_, word: string) => `this ${inWords(word)}`)
    .replaceAll(/(?<![\w."'-])[a-z]+(?:[A-Z][a-z]+)+(?![\w"'])/g, (word) => names[word] ?? word);
  return named
    .replaceAll(/(--[a-z-]+|\b[A-Z]{2,})(?:,| and| or) \1(?![\w-])/g, '$1')
    .replaceAll(/one of (--[a-z-]+), (--[a-z-]+)(?=$|\.)/g, 'one of $1 and $2')
    .replaceAll(/[Gg]ive (?:either|one of) (--[a-z-]+|[A-Z]+)(?=$|\.)/g, 'give $1');
}

/** `externalId` is `external id`. */
function inWords(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.?!]$/.test(first) ? first : `${first}.`;
}
