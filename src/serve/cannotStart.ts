/** The service cannot start. The message tells the operator why. */
export class CannotStart extends Error {
  override readonly name = 'CannotStart';
  /** It may start later, with nothing changed. */
  readonly isTemporary: boolean;

  constructor(message: string, isTemporary = false) {
    super(message);
    this.isTemporary = isTemporary;
  }
}
