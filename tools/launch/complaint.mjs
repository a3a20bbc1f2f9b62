/** An error that the user can act on. Its message is shown without a stack trace. */
export class Complaint extends Error {
  /**
   * @param {string} message
   * @param {number} [exitCode]
   */
  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * @param {unknown} error
 * @returns {never}
 */
export function exitWithComplaint(error) {
  if (!(error instanceof Complaint)) throw error;
  console.error(error.message);
  process.exit(error.exitCode);
}
