/** What one check of the pipeline found. */
export interface ExplainedCheck {
  readonly check: string;
  readonly result: 'passed' | 'refused' | 'not reached';
  readonly text: string;
  /** Only checks that count have them. */
  readonly counters?: readonly ExplainedCounter[];
}

export interface ExplainedCounter {
  /** The name of a limit, or `credits`. */
  readonly name: string;
  readonly of: 'key' | 'identity';
  /** What this verification took. */
  readonly taken: number;
  /** What is left after it; null = it is metered, and has no balance. */
  readonly remaining: number | null;
  /** When the window of a limit ends; null for credits. */
  readonly resetAtMs: number | null;
}
