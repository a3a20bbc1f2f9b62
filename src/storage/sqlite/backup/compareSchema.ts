import { repeatable } from '../../../core/errors.ts';

/** One object of a schema, as SQLite keeps it. */
export interface SchemaObject {
  /** `table`, `index`, `view` or `trigger`. */
  readonly type: string;
  readonly name: string;
  readonly tbl_name: string;
  /** null: an index that a constraint brings. */
  readonly sql: string | null;
}

export const SCHEMA_COLUMNS = 'type, name, tbl_name, sql';

/** Statistics of SQLite, which ANALYZE makes in any database. */
const STATISTICS: Readonly<Record<string, string>> = {
  sqlite_stat1: 'CREATE TABLE sqlite_stat1(tbl,idx,stat)',
  sqlite_stat4: 'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)',
};

/** The words and signs of a statement. Comments and spaces between them mean nothing; those in quotes do. */
const TOKEN =
  /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|[\w$\u0080-\uffff]+|\s+|[^]/g;
const MEANS_NOTHING = /^(?:--|\/\*|\s)/;

/**
 * What is in a database that Keystile does not make, as a sentence without its subject; null = nothing. A trigger or a view runs statements of whoever made it, and
 * a table can lack what the program relies on. The texts are compared as SQLite reads them, so a comment may differ.
 */
export function strangeIn(found: readonly SchemaObject[], known: readonly SchemaObject[]): string | null {
  const missing = new Map(known.filter(isOurs).map((each) => [nameOf(each), meaningOf(each)]));
  for (const each of found.filter(isOurs)) {
    const expected = missing.get(nameOf(each));
    if (expected === undefined) return `has the ${typeOf(each)} ${repeatable(each.name)}, which Keystile does not make`;
    if (expected !== meaningOf(each)) return `has another ${typeOf(each)} ${repeatable(each.name)} than Keystile makes`;
    missing.delete(nameOf(each));
  }
  const [absent] = missing.keys();
  return absent === undefined ? null : `lacks the ${absent}`;
}

function isOurs({ type, name, sql }: SchemaObject): boolean {
  return !(type === 'table' && STATISTICS[name] === sql);
}

function nameOf({ type, name }: SchemaObject): string {
  return `${type} ${name}`;
}

/** Statements read columns by their names, so two tables are the same when only the order of their columns differs. */
function meaningOf({ type, tbl_name, sql }: SchemaObject): string {
  const tokens = ((sql ?? '').match(TOKEN) ?? []).filter((token) => !MEANS_NOTHING.test(token));
  return [tbl_name, ...(type === 'table' ? inAnyOrder(tokens) : tokens)].join('\n');
}

/** A statement with what stands between its outer brackets, separated by commas, in alphabetical order. */
function inAnyOrder(tokens: readonly string[]): string[] {
  const parts: string[] = [];
  const around: string[] = [];
  let depth = 0;
  const part: string[] = [];
  for (const token of tokens) {
    if (token === ')') depth--;
    const endsPart = (token === ')' && depth === 0) || (token === ',' && depth === 1);
    if (endsPart) parts.push(part.splice(0).join('\n'));
    if (depth === 0) around.push(token);
    else if (!endsPart) part.push(token);
    if (token === '(') depth++;
  }
  return [...around, ...parts.toSorted().flatMap((each) => [each, ','])];
}

/** Of a file that is not ours, anything can stand there. */
function typeOf({ type }: SchemaObject): string {
  return ['table', 'index', 'view', 'trigger'].includes(type) ? type : 'object';
}
