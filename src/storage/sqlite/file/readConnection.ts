import { Database, type SQLQueryBindings } from 'bun:sqlite';

import type { Damage } from './damage.ts';

const READS = ['get', 'all', 'values'] as const;

/** The connection that reads for requests. A read that meets a damaged page is remembered, and fails as `StorageDamaged`. */
export class ReadConnection extends Database {
  /** null: the service starts, and a failure ends the start. */
  #damage: Damage | null = null;
  readonly #watched = new WeakSet<object>();

  /** From now on requests read. */
  watch(damage: Damage): void {
    this.#damage = damage;
  }

  override query<R, P extends SQLQueryBindings | SQLQueryBindings[]>(sql: string) {
    const statement = super.query<R, P>(sql);
    // The same text is the same statement.
    if (!this.#watched.has(statement)) this.#watch(statement, sql);
    return statement;
  }

  #watch(statement: object, sql: string): void {
    this.#watched.add(statement);
    const reads = statement as Record<(typeof READS)[number], (...params: unknown[]) => unknown>;
    for (const name of READS) {
      const read = reads[name].bind(statement);
      reads[name] = (...params) => {
        try {
          return read(...params);
        } catch (error) {
          throw this.#damage?.noteRead(error, sql) ?? error;
        }
      };
    }
  }
}
