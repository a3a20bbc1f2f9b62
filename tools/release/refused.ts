/** A release that cannot be made. Its message is one sentence that says what to do. */
export class Refused extends Error {
  override readonly name = 'Refused';
}
