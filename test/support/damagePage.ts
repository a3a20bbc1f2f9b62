import { Database } from 'bun:sqlite';
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

/** The first byte of an inner page of a table with and without row ids. */
const INNER = [0x05, 0x02];
const PAGE_SIZE_AT = 16;
const LAST_CHILD_AT = 8;

/**
 * Damages the last page of the rows of a table, as a bad block of a disk does: what was written last is on it. The service must be
 * stopped, so that all is in the file. Answers how many pages of rows there are on the way to it: more than one leaves other rows whole.
 */
export function damageLastPage(path: string, table: string): number {
  using db = new Database(path, { readonly: true });
  const { rootpage } = db.query('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(table) as { rootpage: number };
  const bytes = readFileSync(path);
  const size = bytes.readUInt16BE(PAGE_SIZE_AT);
  let page = rootpage;
  let depth = 1;
  for (; INNER.includes(bytes[(page - 1) * size] ?? 0); depth++)
    page = bytes.readUInt32BE((page - 1) * size + LAST_CHILD_AT);
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(size, 0xdb), 0, size, (page - 1) * size);
  closeSync(file);
  return depth;
}
