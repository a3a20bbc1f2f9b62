/** The server or its schema cannot be used. Reported at the start, where someone can act on it. */
export class WrongServer extends Error {
  override readonly name = 'WrongServer';
}
