import { type Client, type Connection, Query } from 'pg';

/** A statement that is prepared once for each connection, and answers one text. */
export interface PreparedStatement {
  readonly name: string;
  readonly text: string;
}

/** What the driver knows of the statements of a connection. */
interface Statements {
  readonly parsedStatements: Readonly<Record<string, string>>;
  readonly submittedNamedStatements: Record<string, string>;
}

/** The answer to a message that was written elsewhere (bindMessage.ts), ending with Sync. */
export function askPrepared(client: Client, statement: PreparedStatement, message: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    client.query(new WrittenQuery(statement, message, resolve, reject));
  });
}

/** For the driver a query like others, which it keeps in their order; it only does not write it, and reads but one text. */
class WrittenQuery extends Query {
  readonly #statement: PreparedStatement;
  readonly #message: Buffer;
  readonly #resolve: (answer: string) => void;
  readonly #reject: (error: unknown) => void;
  #answer = '';

  constructor(
    statement: PreparedStatement,
    message: Buffer,
    resolve: (answer: string) => void,
    reject: (error: unknown) => void,
  ) {
    super(statement);
    this.#statement = statement;
    this.#message = message;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  override submit = (connection: Connection): void => {
    const { name, text } = this.#statement;
    const { parsedStatements, submittedNamedStatements } = connection as Connection & Statements;
    if (parsedStatements[name] === undefined && submittedNamedStatements[name] === undefined) {
      connection.parse({ name, text, types: [] }, true);
      submittedNamedStatements[name] = text;
    }
    // As the driver does: of a connection that is gone it hears in another way.
    if (connection.stream.writable) connection.stream.write(this.#message);
  };

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    this.#answer = fields[0] ?? '';
  }

  handleCommandComplete(): void {
    // What follows says that it is over.
  }

  handleError(error: unknown): void {
    this.#reject(error);
  }

  handleReadyForQuery(): void {
    this.#resolve(this.#answer);
  }
}
