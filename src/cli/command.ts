import type { CliError } from './cliError.ts';
import type { Setting } from '../config/variables.ts';
import type { FlagNames, Flags, FlagTable } from './flags.ts';
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
  /** What the summary does not say, for the help of this command. */
  readonly description?: string;
  /** The arguments besides flags, as help shows them: `ID`, or `[KEY]` for an optional one. */
  readonly operands: readonly string[];
  /** What the argument means. Absent: its name says it. */
  readonly operandMeaning?: string;
  /** The flags of this command. Every command also accepts `COMMON_FLAGS` and, unless `takesSettings` is false, the settings. */
  readonly flags: FlagTable;
  /** Flags that it had once, each with what to write now. */
  readonly formerFlags?: Readonly<Record<string, string>>;
  /** False = the command reads no setting: their flags are refused. A list: it reads these alone. */
  readonly takesSettings?: false | readonly Setting[];
  readonly examples: readonly string[];
  /** The endpoint that the command is for, such as `keys.rotateKey`. */
  readonly endpoint?: string;
  /** Whether --profile may name the service. Absent: it may when the command is for an endpoint. */
  readonly takesProfile?: boolean;
  /** Flags that say where the data is. The command asks no service by its address, so it has neither --url nor --root-key. */
  readonly dataFlags?: readonly ('data' | 'database-url')[];
  /** The command takes something away for good: it is never suggested for another one. */
  readonly isDestructive?: true;
  /** The flag or argument of each field of the request, for the errors of the service. */
  readonly flagNames?: FlagNames;
  /** Tells a failure in another way than in sentences for a person. */
  readonly tellFailure?: (call: Call, failure: CliError) => void;
  /** Returns the exit code. */
  run(call: Call): Promise<number>;
}
