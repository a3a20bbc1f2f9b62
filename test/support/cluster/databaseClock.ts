import type { FaultLab } from './faultLab.ts';

/**
 * A clock of the database that stands still until the test sets it. Functions of the same names are found before those of the
 * server, by everyone who connects from then on: it has to be made before a node is opened.
 */
export class DatabaseClock {
  readonly #lab: FaultLab;

  private constructor(lab: FaultLab) {
    this.#lab = lab;
  }

  static async on(lab: FaultLab, at: string): Promise<DatabaseClock> {
    await lab.query('CREATE SCHEMA stopped');
    await lab.query('CREATE TABLE stopped.clock AS SELECT $1::timestamptz AS at', [at]);
    for (const name of ['now', 'clock_timestamp']) {
      await lab.query(`CREATE FUNCTION stopped.${name}() RETURNS timestamptz LANGUAGE sql VOLATILE
        AS 'SELECT at FROM stopped.clock'`);
    }
    await lab.query(`ALTER DATABASE "${lab.database}" SET search_path = public, stopped, pg_catalog`);
    return new DatabaseClock(lab);
  }

  async set(at: string): Promise<void> {
    await this.#lab.query('UPDATE stopped.clock SET at = $1::timestamptz', [at]);
  }
}
