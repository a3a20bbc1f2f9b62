/** A service, or a database, that is held for a move. */
export interface SourceHold {
  /** From now on nothing is spent. */
  accounts(): Promise<void>;
  /** The export is whole: the source stays held until it is released. */
  finish(): Promise<void>;
  /** Lets go, unless the move is finished. */
  close(): Promise<void>;
}
