/** Data cannot be exported or imported. The message tells the operator why, and what to do. */
export class DataError extends Error {
  override readonly name = 'DataError';
}
