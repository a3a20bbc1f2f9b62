/** Who asks for a change: a root key, or the program itself. */
export interface Actor {
  /** Id of the root key. */
  readonly id: string;
  readonly rights: readonly string[];
  /** When its rights end; null = never. Nobody hands out what lives longer. */
  readonly untilMs: number | null;
  /** The address that the request came from. */
  readonly origin: string | null;
  readonly requestId: string | null;
}

/** What the service does of itself, at its start and behind the requests. */
export const SYSTEM: Actor = { id: 'system', rights: ['*'], untilMs: null, origin: null, requestId: null };

/** The owner of the data folder, through the command line. */
export const COMMAND_LINE: Actor = { id: 'cli', rights: ['*'], untilMs: null, origin: null, requestId: null };
