import { CliError, misused, WrongSettings } from './cliError.ts';
import { count, duration, type Kind, type Parsed } from '../config/kinds.ts';
import { MAX_COUNT } from '../core/bounds.ts';
import { repeatable } from '../core/errors.ts';
import { isOneEditAway, nearestName } from '../basics/nearestName.ts';
import { wallClockMs } from '../bunPlatform.ts';
import { inSentence } from './words.ts';

export interface FlagSpec {
  /** The name of the value in the help. Null: the flag is a switch without a value. */
  readonly value: string | null;
  readonly meaning: string;
  readonly isRepeatable?: true;
}

/** Flags by name, without the dashes. */
export type FlagTable = Readonly<Record<string, FlagSpec>>;

/** The flags that were given on the command line. */
export class Flags {
  readonly #table: FlagTable;
  readonly #given: ReadonlyMap<string, readonly string[]>;

  constructor(table: FlagTable, given: ReadonlyMap<string, readonly string[]>) {
    this.#table = table;
    this.#given = given;
  }

  /** Whether the command has this flag at all. */
  takes(name: string): boolean {
    return name in this.#table;
  }

  specOf(name: string): FlagSpec | undefined {
    return this.#table[name];
  }

  has(name: string): boolean {
    return this.list(name).length > 0;
  }

  text(name: string): string | undefined {
    return this.list(name)[0];
  }

  list(name: string): readonly string[] {
    if (!this.takes(name)) throw new Error(`this command has no flag --${name}`);
    return this.#given.get(name) ?? [];
  }
}

interface CommandLine {
  readonly flags: Flags;
  readonly operands: readonly string[];
}

/** Splits words into flags (`--name value`, `--name=value`, `--switch`) and operands; after `--` all are operands. `former`: see Command. */
export function parseFlags(
  words: readonly string[],
  table: FlagTable,
  former: Readonly<Record<string, string>> = {},
): CommandLine {
  const given = new Map<string, string[]>();
  const operands: string[] = [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? '';
    if (word === '--') {
      operands.push(...words.slice(i + 1));
      break;
    }
    if (!word.startsWith('-') || word === '-') operands.push(word);
    else {
      const { name, attached } = splitFlag(word);
      const spec = findSpec(name, table, former);
      const values = given.get(name) ?? [];
      if (values.length > 0 && spec.isRepeatable !== true) throw misused(`--${name} is given twice. Give it once.`);
      given.set(name, [
        ...values,
        spec.value === null ? switchValue(name, attached) : (attached ?? valueAfter(name, words[++i])),
      ]);
    }
  }
  return { flags: new Flags(table, given), operands };
}

/** Errors show only the name: the text after `=` may be a secret. */
function splitFlag(word: string): { name: string; attached: string | undefined } {
  const at = word.indexOf('=');
  const name = (at === -1 ? word : word.slice(0, at)).replace(/^--/, '');
  return { name: name === '-h' ? 'help' : name, attached: at === -1 ? undefined : word.slice(at + 1) };
}

/** Flags that make a command take more away, or not ask. They are suggested only to whoever has nearly written them. */
const RISKY = new Set(['yes', 'permanent', 'force', 'accept']);

function findSpec(name: string, table: FlagTable, former: Readonly<Record<string, string>>): FlagSpec {
  const spec = Object.hasOwn(table, name) ? table[name] : undefined;
  if (spec !== undefined) return spec;
  if (Object.hasOwn(former, name)) throw misused(`--${name} is not a flag any more. ${former[name]}`);
  const written = name.replace(/^-+/, '');
  const known = Object.keys(table).filter((each) => !RISKY.has(each) || isOneEditAway(written, each));
  const near = nearestName(written, known);
  const dashed = name.startsWith('-') ? name : `--${name}`;
  throw misused(`Unknown flag ${dashed}. ${near === null ? '--help lists them all.' : `Did you mean --${near}?`}`);
}

function switchValue(name: string, attached: string | undefined): string {
  if (attached !== undefined) throw misused(`--${name} takes no value.`);
  return 'true';
}

/** A word that starts with -- is not a value: in `--name --json` the value is missing. `--name=--json` gives such a value. */
function valueAfter(name: string, word: string | undefined): string {
  if (word === undefined || word.startsWith('--')) throw misused(`--${name} needs a value.`);
  return word;
}

/** Parses the values of flags. An absent flag is undefined. The service checks all further bounds. */

export function countFlag(flags: Flags, name: string): number | undefined {
  return kindFlag(flags, name, count(0, MAX_COUNT));
}

export function kindFlag<T>(flags: Flags, name: string, kind: Kind<T>): T | undefined {
  const text = flags.text(name);
  if (text === undefined) return undefined;
  const outcome = kind.parse(text);
  if ('problem' in outcome) throw misused(`--${name} ${outcome.problem}, got ${repeatable(text)}.`);
  return outcome.value;
}

const DATE = /^(\d{4})-(\d\d)-(\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/;

export const TIME_WORDS = 'unix milliseconds or a date such as 2030-12-31 (midnight UTC) or 2030-12-31T18:00:00Z';
/** With a time span, from now on or back. */
export const SPAN_WORDS = `a time span such as 30d or 24h, ${TIME_WORDS}`;

export function timeFlag(flags: Flags, name: string): number | undefined {
  const text = flags.text(name);
  if (text === undefined) return undefined;
  const unixMs = parseTimeOrSpan(name, text);
  if (unixMs === null) throw misused(`--${name} must be ${SPAN_WORDS}, got ${repeatable(text)}.`);
  return unixMs;
}

const MAX_SPAN_MS = 100 * 366 * 86_400_000;
/** A number without a unit is a time. */
const SPAN = /[a-z]$/;

/** A time, or how far it is from now: ahead for what expires, else back. `name` is that of the flag or field. */
export function parseTimeOrSpan(name: string, text: string): number | null {
  const outcome = SPAN.test(text) ? duration(0, MAX_SPAN_MS).parse(text) : null;
  if (outcome === null || !('value' in outcome)) return parseTime(text);
  const nowMs = wallClockMs();
  return name.startsWith('expires') ? nowMs + outcome.value : Math.max(0, nowMs - outcome.value);
}

/** Parses unix milliseconds or a date. A time of day needs a zone, because two machines would read it differently. */
export function parseTime(text: string): number | null {
  if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  const [, year, month, day] = DATE.exec(text) ?? [];
  const unixMs = day === undefined ? NaN : Date.parse(text);
  // Some parsers read 30 February as 2 March.
  const isDay = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
  return Number.isNaN(unixMs) || !isDay ? null : unixMs;
}

/** Parses a JSON object. Refuses a number that is too large: JSON.stringify would send it as null. */
export function parseObject(text: string): Parsed<object> {
  let isInfinite = false;
  const note = (_: string, value: unknown): unknown => {
    isInfinite ||= typeof value === 'number' && !Number.isFinite(value);
    return value;
  };
  let value: unknown = null;
  try {
    value = JSON.parse(text, note) as unknown;
  } catch {
    // Reported below, together with JSON that is not an object.
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && !isInfinite) return { value };
  const numbers = isInfinite ? ' without numbers above 1.8e308' : '';
  return { problem: `a JSON object such as '{"plan":"free"}'${numbers}` };
}

/** Names of flags and arguments by the member of the request that they set, such as `ratelimit.limit`, and of commands by their endpoint. */
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
    return isIssue ? sentence(withMembers(withPath(line, paths[i] ?? '', names), names)) : withMembers(line, names);
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

const MEMBER = '[a-z]+(?:[A-Z][a-z]+)+';
const IN_SENTENCE = new RegExp(String.raw`\b(this|the) (${MEMBER})\b`, 'g');
/** Also with the name of an endpoint before it, such as `keys.createKey`. */
const NAMED = new RegExp(String.raw`(?<![\w."'-])(?:[a-zA-Z]+\.)?(?:${MEMBER}|remaining)(?![\w"'])`, 'g');

/** A name in camel case is no English word: it is a member of the request, or an endpoint, wherever it stands. `remaining` is no other word here. */
function withMembers(line: string, names: FlagNames): string {
  const named = line
    .replaceAll(IN_SENTENCE, (_, article: string, member: string) => `${article} ${inSentence(member)}`)
    .replaceAll(NAMED, (member) => names[member] ?? member);
  return named
    .replaceAll(/(--[a-z-]+|\b[A-Z]{2,})(?:,| and| or) \1(?![\w-])/g, '$1')
    .replaceAll(/one of (--[a-z-]+), (--[a-z-]+)(?=$|\.)/g, 'one of $1 and $2')
    .replaceAll(/[Gg]ive (?:either|one of) (--[a-z-]+|[A-Z]+)(?=$|\.)/g, 'give $1');
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.?!]$/.test(first) ? first : `${first}.`;
}
