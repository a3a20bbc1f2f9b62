/** All that a command has of the world around it, so that a test can be that world. */
export interface Io {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Answers, as they are: standard output. */
  out(text: string): void;
  /** Errors, notes and the log: standard error. */
  err(text: string): void;
  /** Whether a person reads the log as it is written. */
  readonly isTerminal: boolean;
  /** Standard output is a terminal: what is written to it is seen by a person and kept nowhere. */
  readonly showsSecrets: boolean;
  readStdin(): Promise<string>;
  /** Standard input piece by piece, for what may be large. */
  readonly streamStdin?: () => AsyncIterable<Uint8Array>;
  /** Asks a person for a secret without showing it; null when nobody sits there. */
  readonly askSecret: ((question: string) => Promise<string>) | null;
}
