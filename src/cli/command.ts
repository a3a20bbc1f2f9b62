import type { FlagTable, Flags } from './flags.ts';
import type { Io } from './io.ts';

/** A command as it was called. */
export interface Call {
  readonly io: Io;
  readonly flags: Flags;
  readonly operands: readonly string[];
  readonly isJson: boolean;
}

export interface Command {
  /** One or two words, as they are typed: `key create`. */
  readonly name: string;
  readonly summary: string;
  /** What stands beside the flags, as help shows it: `ID`, or `[KEY]` when it may be left out. */
  readonly operands: readonly string[];
  /** Its own flags; the settings and `COMMON_FLAGS` are understood by every command. */
  readonly flags: FlagTable;
  readonly examples: readonly string[];
  /** Answers the exit code. */
  run(call: Call): Promise<number>;
}
