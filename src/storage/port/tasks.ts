/** Background work. Storage and engine define it, the process runs it. */
export interface Task {
  /** What the task does, for the log: "summing analytics". */
  readonly name: string;
  /** The time from the start of a run to the start of the next one. A run that takes longer is not started a second time. */
  readonly everyMs: number;
  /** A run that fails is logged, and the task runs again at its next turn. */
  run(turn: Turn): Promise<void>;
  /** The process stops: a running run must end soon. */
  stop?(): void;
}

/** What a run may wait for. Both return at once when the process stops. */
export interface Turn {
  /** Returns whether to continue: false when the process stops. */
  rest(milliseconds: number): Promise<boolean>;
  until(event: Promise<void>): Promise<void>;
}

type Say = (message: string, fields?: Readonly<Record<string, string | number | boolean | null>>) => void;

/** Where tasks report what they find. */
export interface TaskLog {
  readonly info: Say;
  readonly warn: Say;
  readonly error: Say;
}
