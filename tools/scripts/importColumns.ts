import type { ColumnKind, ColumnKinds } from '../../src/cli/import/rows.ts';
import { IMPORTED_FIELDS } from '../../src/http/shapes/keys/importFields.ts';
import { ApiId } from '../../src/http/shapes/schema/commonFields.ts';
import { numberKind, type Schema } from './endpointFields.ts';

/** The columns of a file of keys, from the fields of an import. A dot separates a field from a field inside it. */
export function importColumns(): ColumnKinds {
  const fields: object = { apiId: ApiId, ...IMPORTED_FIELDS };
  const entries = Object.entries(fields) as (readonly [string, Schema])[];
  return Object.fromEntries(entries.flatMap(([name, schema]) => columnsOf(name, schema)));
}

function columnsOf(name: string, schema: Schema): (readonly [string, ColumnKind])[] {
  const inner = Object.entries(schema.properties ?? {});
  // Columns are written for this program, so they need no older name, except the owner's, which files have.
  if (schema.deprecated === true && name !== 'ownerId') return [];
  if (inner.length === 0) return [[name, kindOf(name, schema)]];
  return inner.flatMap(([member, each]) => columnsOf(`${name}.${member}`, each));
}

function kindOf(name: string, { type, anyOf, items, description = '' }: Schema): ColumnKind {
  if (anyOf !== undefined) return kindOf(name, { ...anyOf[0], description });
  if (type === 'integer') return numberKind(name, description) === 'time' ? 'time' : 'count';
  if (type === 'boolean') return 'flag';
  if (type === 'array') return items?.properties === undefined ? 'list' : 'json';
  return type === 'object' ? 'json' : 'text';
}

const VALUES: Readonly<Record<ColumnKind, string>> = {
  text: 'text',
  count: 'a whole number',
  time: 'unix milliseconds, or a date such as `2030-12-31`',
  flag: '`true` or `false`',
  list: 'separated by spaces or `;`',
  json: 'JSON',
};

/** The table of docs/imports.md. */
export function importColumnsTable(): string {
  const columns = Object.entries(importColumns());
  const rows = Object.entries(VALUES).map(([kind, words]) => {
    const names = columns.filter(([, each]) => each === kind).map(([name]) => `\`${name}\``);
    return `| ${names.join(', ')} | ${words} |`;
  });
  return [
    '| Column | Value |',
    '|---|---|',
    '| `hash` | the SHA-256 in base64, the same as `hash.value` |',
    ...rows,
  ].join('\n');
}
