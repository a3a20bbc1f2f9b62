/** One endpoint of the service. */
export interface Call {
  readonly group: string;
  readonly method: string;
  readonly path: string;
  /** It changes nothing, so to repeat it is always safe. */
  readonly isRead: boolean;
  /** Of a list: the field of the answer that contains the items; null: the answer is the list. */
  readonly items?: string | null;
}
export interface CallOptions {
  /** Ends the call. Whether the service carries it out is then unknown. */
  readonly signal?: AbortSignal | undefined;
}
