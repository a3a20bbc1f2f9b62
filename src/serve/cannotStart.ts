/** A start that cannot go on; its message is for a person. */
export class CannotStart extends Error {
  override readonly name = 'CannotStart';
}
