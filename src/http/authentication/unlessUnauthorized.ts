import { AppError } from '../../core/errors.ts';

/** For pages that ask before anybody has signed in: that nobody has is null, and no error. */
export function unlessUnauthorized(failure: unknown): null {
  if (failure instanceof AppError && failure.code === 'UNAUTHORIZED') return null;
  throw failure;
}
