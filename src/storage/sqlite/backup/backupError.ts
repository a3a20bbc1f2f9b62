/** A backup cannot be made, read or restored. The message tells the operator why, and what to do. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}
