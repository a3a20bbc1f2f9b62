/** Everything that a command uses of its process, so that a test can replace it. */
export interface Io {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Writes results to standard output. */
  out(text: string): void;
  /** Writes large results to standard output. It is written when this returns. Fails when nobody reads it any more. */
  readonly writeOut?: (bytes: Uint8Array) => Promise<void>;
  /** Writes errors, notes and the log to standard error. */
  err(text: string): void;
  /** Standard error is a terminal. */
  readonly isTerminal: boolean;
  /** Standard output is a terminal: a person sees what is written, and nothing keeps it. */
  readonly showsSecrets: boolean;
  readStdin(): Promise<string>;
  /** Standard input in chunks, for large input. */
  readonly streamStdin?: () => AsyncIterable<Uint8Array>;
  /** Asks the user for a secret without showing it. Null: standard input is not a terminal. */
  readonly askSecret: ((question: string) => Promise<string>) | null;
  /** Asks the user and shows what is typed. Absent or null: standard input is not a terminal. */
  readonly ask?: ((question: string) => Promise<string>) | null;
}
