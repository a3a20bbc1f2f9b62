import { type Client, type Connection, Query } from 'pg';

/** A statement that is prepared once on each connection, and answers one text. */
export interface PreparedStatement {
  readonly name: string;
  readonly text: string;
}

/** The format of a value is the driver's: a string is sent as text, a Buffer as binary. */
export type WireValue = string | Buffer | null;

/** The name under which each connection knows a statement. */
const namesOn = new WeakMap<Connection, Map<PreparedStatement, string>>();
let parses = 0;

/**
 * Calls a prepared statement and answers its only text. It uses the public methods of the driver's connection, as a cursor does. The
 * driver's own `query` maps every value, asks for the description of an answer that is known, and builds a result of it.
 */
export function callPrepared(client: Client, statement: PreparedStatement, values: WireValue[]): Promise<string> {
  return new Promise((resolve, reject) => {
    client.query(new PreparedCall(statement, values, resolve, reject));
  });
}

class PreparedCall extends Query {
  readonly #statement: PreparedStatement;
  readonly #values: WireValue[];
  readonly #resolve: (answer: string) => void;
  readonly #reject: (error: unknown) => void;
  #answer = '';
  /** The connection on which this call prepares the statement; null when that was done before. */
  #prepares: Connection | null = null;

  constructor(
    statement: PreparedStatement,
    values: WireValue[],
    resolve: (answer: string) => void,
    reject: (error: unknown) => void,
  ) {
    super(statement);
    this.#statement = statement;
    this.#values = values;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  override submit = (connection: Connection): void => {
    connection.stream.cork();
    const statement = this.#prepare(connection);
    connection.bind({ statement, values: this.#values }, true);
    connection.execute({}, true);
    connection.sync();
    connection.stream.uncork();
  };

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    this.#answer = fields[0] ?? '';
  }

  handleCommandComplete(): void {
    // The end of the call follows.
  }

  handleError(error: unknown): void {
    // The statement may not be there: the next call prepares it under a new name.
    if (this.#prepares !== null) namesOn.get(this.#prepares)?.delete(this.#statement);
    this.#reject(error);
  }

  handleReadyForQuery(): void {
    this.#resolve(this.#answer);
  }

  #prepare(connection: Connection): string {
    const names = namesOn.get(connection) ?? new Map<PreparedStatement, string>();
    namesOn.set(connection, names);
    const known = names.get(this.#statement);
    if (known !== undefined) return known;
    const name = `${this.#statement.name} ${++parses}`;
    connection.parse({ name, text: this.#statement.text, types: [] }, true);
    names.set(this.#statement, name);
    this.#prepares = connection;
    return name;
  }
}
