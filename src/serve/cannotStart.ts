/** The service cannot start. The message tells the operator why. */
export class CannotStart extends Error {
  override readonly name = 'CannotStart';
}
