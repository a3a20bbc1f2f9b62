import { AppError, type ErrorCode } from '../../../core/errors.ts';

/** Problems that the message of an error names. `issues` has all of them. */
const MAX_IN_MESSAGE = 10;

/** Why one of several keys cannot be created. */
export interface KeyProblem {
  readonly index: number;
  readonly error: AppError;
}

/** One error for several problems: the code of the first, and all problems with the same code. `list`: the name of the list of keys. */
export function asOneError(problems: readonly KeyProblem[], list = ''): AppError {
  const code: ErrorCode = problems[0]?.error.code ?? 'BAD_REQUEST';
  const issues = problems
    .filter(({ error }) => error.code === code)
    .map(({ index, error }) => {
      const field = error.issues?.[0]?.path;
      return { path: `${list}[${index}]${field === undefined ? '' : `.${field}`}`, message: error.message };
    });
  const shown = issues.slice(0, MAX_IN_MESSAGE).map(({ path, message }) => `${path}: ${message}`);
  const more = issues.length > shown.length ? [`And ${issues.length - shown.length} more.`] : [];
  return new AppError(code, [...shown, ...more].join(' '), issues);
}

/** Runs `work`, and adds what it refuses to the problems. Answers null then. A right that is lacking is no problem of one key. */
export async function orProblem<T>(
  problems: KeyProblem[],
  index: number,
  work: () => T | Promise<T>,
): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'INSUFFICIENT_PERMISSIONS') throw error;
    problems.push({ index, error });
    return null;
  }
}
