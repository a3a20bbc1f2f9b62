/**
 * A process of another user counts as running.
 *
 * @param {number} pid
 */
export function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code !== 'ESRCH';
  }
}
