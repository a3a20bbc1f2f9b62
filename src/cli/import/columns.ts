import { MIN_IMPORTED_SECRET_LENGTH } from '../../core/bounds.ts';
import { nearestName } from '../../core/nearest.ts';
import { failed } from '../cliError.ts';
// Made by `npm run docs` from the fields of an import.
import columns from './columns.json';
import { parseTime, TIME_WORDS } from '../flagValues.ts';

export type ColumnKind = 'text' | 'count' | 'time' | 'flag' | 'list' | 'json';
export type ColumnKinds = Readonly<Record<string, ColumnKind>>;

/** How the text of a cell is read. `read` returns the value, or null for wrong text. `words` describes right text. */
interface Kind {
  readonly words: string;
  read(text: string): unknown;
}

const KINDS: Readonly<Record<ColumnKind, Kind>> = {
  text: { words: 'text', read: (cell) => cell },
  count: {
    words: 'a whole number of at least 0',
    read: (cell) => (/^\d{1,16}$/.test(cell) && Number.isSafeInteger(Number(cell)) ? Number(cell) : null),
  },
  time: { words: TIME_WORDS, read: parseTime },
  flag: {
    words: 'true or false',
    read(cell) {
      const word = cell.toLowerCase();
      if (word === 'true' || word === '1') return true;
      return word === 'false' || word === '0' ? false : null;
    },
  },
  list: { words: 'words', read: (cell) => cell.split(/[\s;]+/).filter((word) => word !== '') },
  json: {
    words: 'JSON',
    read(cell) {
      try {
        return JSON.parse(cell) as unknown;
      } catch {
        return null;
      }
    },
  },
};

const VARIANT = 'sha256_base64';

/** Columns have the names of fields. A dot separates a field from a field inside it. `hash` is short for `hash.value`. */
const COLUMNS: ColumnKinds = { hash: 'text', ...(columns as ColumnKinds) };

/** Refuses a wrong header before anything is sent. */
export function checkHeader(names: readonly string[], hasApi: boolean): void {
  const problems: string[] = [];
  for (const [i, name] of names.entries()) {
    if (names.indexOf(name) !== i)
      problems.push(`The header has the column ${JSON.stringify(name)} twice. Remove one of them.`);
    else if (!Object.hasOwn(COLUMNS, name)) problems.push(unknownColumn(name));
  }
  if (!['plaintext', 'hash', 'hash.value'].some((name) => names.includes(name))) {
    problems.push('The header needs a column "plaintext" (the keys) or "hash" (the SHA-256 of the keys in base64).');
  }
  if (!hasApi && !names.includes('apiId'))
    problems.push('The header needs a column "apiId". To use one api for all rows, give --api ID.');
  if (problems.length > 0) throw failed(...problems);
}

/** A file without a header begins with a key. So an unknown name is shown only when it cannot be a key. */
function unknownColumn(name: string): string {
  const near = nearestName(name, Object.keys(COLUMNS));
  const isWord = name.length < MIN_IMPORTED_SECRET_LENGTH && /^[A-Za-z][\w. -]*$/.test(name);
  const shown = isWord ? `Unknown column ${JSON.stringify(name)}.` : 'The header has an unknown column name.';
  if (near !== null) return `${shown} Did you mean ${near}?`;
  return `${shown} The first line must name columns. Known columns: ${Object.keys(COLUMNS).join(', ')}.`;
}

/**
 * The fields of a row. An empty cell is an absent field. Returns a text with all problems when a cell is wrong; it never
 * shows a cell, which may hold a key in the wrong column.
 */
export function toFields(names: readonly string[], cells: readonly string[]): object | string {
  const fields: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [i, name] of names.entries()) {
    const cell = cells[i]?.trim() ?? '';
    if (cell === '') continue;
    const kind = KINDS[COLUMNS[name] ?? 'text'];
    const value = kind.read(cell);
    if (value === null) problems.push(`${name} must be ${kind.words}`);
    else put(fields, name === 'hash' ? 'hash.value' : name, value);
  }
  if (problems.length > 0) return problems.join('; ');
  return withVariant(fields);
}

/** Adds the variant of a digest when it is absent: there is only one. */
export function withVariant(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { hash } = fields;
  if (typeof hash === 'string') return { ...fields, hash: { value: hash, variant: VARIANT } };
  if (typeof hash !== 'object' || hash === null || 'variant' in hash) return fields;
  return { ...fields, hash: { ...hash, variant: VARIANT } };
}

function put(fields: Record<string, unknown>, name: string, value: unknown): void {
  const [outer = '', inner] = name.split('.');
  if (inner === undefined) fields[outer] = value;
  else fields[outer] = { ...(fields[outer] as object | undefined), [inner]: value };
}
