import type { Issue } from '../core/errors.ts';
import { EXIT } from '../serve/exitCodes.ts';

export interface FailureDetails {
  /** Code of the service's error, when it was the service that said no. */
  readonly code?: string;
  readonly issues?: readonly Issue[];
}

/** A command that ends without having done what it was asked. The lines are for a person: no stack, no secret. */
export class Failure extends Error {
  override readonly name = 'Failure';
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

/** The command line was not understood. */
export function misused(...lines: string[]): Failure {
  return new Failure(EXIT.USAGE, lines);
}

/** The service said no, or could not be reached. */
export function failed(...lines: string[]): Failure {
  return new Failure(EXIT.FAILED, lines);
}
