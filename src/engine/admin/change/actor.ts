/** Who makes a change: a root key, the command line, or the service itself. */
export interface Actor {
  /** Id of the root key, or `cli` or `system`. */
  readonly id: string;
  readonly rights: readonly string[];
  /** When its rights end; null = never. An actor cannot create a root key that is valid for longer. */
  readonly untilMs: number | null;
  /** The address that the request came from. */
  readonly origin: string | null;
  readonly requestId: string | null;
  /** It acts for this identity: keys of others do not exist for it. Absent = for nobody in particular. */
  readonly onlyFor?: string;
  /** Where it makes the change; absent = by the API, the command line or the service itself. */
  readonly via?: 'dashboard' | 'portal';
}

/** The service itself, at its start and in the background. */
export const SYSTEM: Actor = { id: 'system', rights: ['*'], untilMs: null, origin: null, requestId: null };

/** The owner of the data folder, who uses the command line. */
export const COMMAND_LINE: Actor = { id: 'cli', rights: ['*'], untilMs: null, origin: null, requestId: null };
