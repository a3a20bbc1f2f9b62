import { isOneEditAway, nearestName } from '../core/nearest.ts';
import { misused } from './cliError.ts';

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

export interface Parsed {
  readonly flags: Flags;
  readonly operands: readonly string[];
}

/** Splits words into flags (`--name value`, `--name=value`, `--switch`) and operands; after `--` all are operands. `former`: see Command. */
export function parseFlags(
  words: readonly string[],
  table: FlagTable,
  former: Readonly<Record<string, string>> = {},
): Parsed {
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
