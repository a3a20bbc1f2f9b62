/** A service, or a database, that is held for a move. */
export interface SourceHold {
  /** An earlier move holds it already: it stays held when this one fails, and its credits may be spent in another place. */
  readonly wasHeld: boolean;
  /** From now on nothing is spent. */
  accounts(): Promise<void>;
  /** The export is whole: the source stays held until it is released. A DataError says that this has not held it. */
  finish(): Promise<void>;
  /** Lets go, unless the move is finished. */
  close(): Promise<void>;
}
