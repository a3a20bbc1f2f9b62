import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Migration } from '../../src/storage/postgres/schema/migrate.ts';
import { copyCheckout } from './documentation/checkout.ts';
import { PROJECT, programOf, TempFolder } from './process.ts';

const EMBEDDED = 'src/storage/sqlite/file/migrate.ts';
const ANALYTICS = 'src/storage/sqlite/analytics.ts';
const SHARED = 'src/storage/postgres/schema/schema.ts';

/** A copy of this program that is made the next version of it: with another number, and with more migrations. */
export class NextProgram implements Disposable {
  readonly #folder = new TempFolder();
  readonly #checkout = copyCheckout(this.#folder);
  readonly #edits = new Map<string, Map<string, (source: string) => string>>();

  get program(): string[] {
    return programOf(this.#checkout);
  }

  get serve(): string[] {
    return [...this.program, 'serve'];
  }

  /** What it says of itself. */
  setVersion(version: string): void {
    const path = join(this.#checkout, 'package.json');
    const manifest = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
    writeFileSync(path, JSON.stringify({ ...manifest, version }));
  }

  /** One more migration of the embedded database, in place of an earlier one that was added. */
  addToEmbedded(migration: string): void {
    this.#append(EMBEDDED, 'BY_HAND: readonly string[] = [', JSON.stringify(migration));
  }

  /** One more migration of analytics.db, in place of an earlier one that was added. */
  addToAnalytics(migration: string): void {
    this.#append(ANALYTICS, 'MIGRATIONS: readonly (string | Migration)[] = [', JSON.stringify(migration));
  }

  /** The process is killed when it comes to this line of a file; null: it is not. */
  killAt(path: string, line: string | null): void {
    this.#edit(path, 'kill', (source) => {
      if (line === null) return source;
      if (source.split(line).length !== 2) throw new Error(`${path} must have this line once: ${line}`);
      return source.replace(line, `process.kill(process.pid, 'SIGKILL'); ${line}`);
    });
  }

  /** More migrations of PostgreSQL, in place of earlier ones that were added. */
  addToShared(...migrations: readonly Migration[]): void {
    this.#append(SHARED, 'BY_HAND: readonly Migration[] = [', migrations.map((each) => JSON.stringify(each)).join());
  }

  [Symbol.dispose](): void {
    this.#folder[Symbol.dispose]();
  }

  /** Puts an entry at the end of a list in a source file of this program. */
  #append(path: string, list: string, entry: string): void {
    this.#edit(path, 'append', (source) => {
      const start = source.indexOf(list);
      const end = source.indexOf('];', start);
      if (start < 0 || end < 0) throw new Error(`${path} has no list of migrations`);
      const entries = source.slice(0, end).trimEnd().replace(/,$/, '');
      return `${entries}, ${entry}${source.slice(end)}`;
    });
  }

  /** Makes a file anew from that of this program, with the last edit of each kind. */
  #edit(path: string, kind: 'append' | 'kill', edit: (source: string) => string): void {
    const edits = this.#edits.get(path) ?? new Map<string, (source: string) => string>();
    this.#edits.set(path, edits.set(kind, edit));
    const source = readFileSync(join(PROJECT, path), 'utf8');
    writeFileSync(
      join(this.#checkout, path),
      [...edits.values()].reduce((text, each) => each(text), source),
    );
  }
}
