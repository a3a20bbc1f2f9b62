import type { FlagTable, Flags } from './flags.ts';
import type { Io } from './io.ts';

/** One call of a command. */
export interface Call {
  readonly io: Io;
  readonly flags: Flags;
  readonly operands: readonly string[];
  readonly isJson: boolean;
}

export interface Command {
  /** One or two words, such as `key create`. */
  readonly name: string;
  readonly summary: string;
  /** The arguments besides flags, as help shows them: `ID`, or `[KEY]` for an optional one. */
  readonly operands: readonly string[];
  /** The flags of this command. Every command also accepts the settings and `COMMON_FLAGS`. */
  readonly flags: FlagTable;
  readonly examples: readonly string[];
  /** Returns the exit code. */
  run(call: Call): Promise<number>;
}
