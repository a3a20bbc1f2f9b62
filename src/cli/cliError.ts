import type { Issue } from '../core/errors.ts';
import { EXIT } from '../serve/exit.ts';

export interface FailureDetails {
  /** Error code of the service, when the service refused the request. */
  readonly code?: string;
  readonly issues?: readonly Issue[];
}

/** A command that failed. The lines are for the user: they hold no stack trace and no secret. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;
  readonly lines: readonly string[];
  readonly details: FailureDetails;

  constructor(exitCode: number, lines: readonly string[], details: FailureDetails = {}) {
    super(lines.join('\n'));
    this.exitCode = exitCode;
    this.lines = lines;
    this.details = details;
  }
}

/** Settings that cannot be used: one line for each problem, which names the setting as it was given. */
export class WrongSettings extends CliError {
  constructor(problems: readonly string[]) {
    super(EXIT.CANNOT_START, problems);
  }
}

/** The command line is wrong. */
export function misused(...lines: string[]): CliError {
  return new CliError(EXIT.USAGE, lines);
}

/** The service refused the command, or did not answer. */
export function failed(...lines: string[]): CliError {
  return new CliError(EXIT.FAILED, lines);
}
