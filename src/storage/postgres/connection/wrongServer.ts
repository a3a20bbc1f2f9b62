/** The server or its schema cannot be used. Reported at the start, where someone can act on it. */
export class WrongServer extends Error {
  override readonly name = 'WrongServer';
}

/** The role may not do what Keystile needs. */
export class MissingRight extends WrongServer {}

/** The start-up parameters of a connection are refused, and would always be. */
export class RefusedStart extends WrongServer {
  constructor(reason: string) {
    super(
      `The server that KEYSTILE_DATABASE_URL names refuses how a connection begins (${reason}). ` +
        'A pooler has to let the parameter through (PgBouncer: ignore_startup_parameters), or let the setting name PostgreSQL itself.',
    );
  }
}

/** A version of PostgreSQL that is too old. */
export class OldServer extends WrongServer {
  readonly found: number;
  readonly oldest: number;

  constructor(found: number, oldest: number) {
    super(`The database is PostgreSQL ${found}; Keystile needs ${oldest} or newer.`);
    this.found = found;
    this.oldest = oldest;
  }
}
