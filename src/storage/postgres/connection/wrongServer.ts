/** The server or its schema cannot be used. Reported at the start, where someone can act on it. */
export class WrongServer extends Error {
  override readonly name = 'WrongServer';
}

/** The role may not do what Keystile needs. */
export class MissingRight extends WrongServer {}

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
