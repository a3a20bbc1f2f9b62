/** A request to a target, which is signed as the Standard Webhooks specification says. */
export interface OutgoingRequest {
  readonly url: string;
  /** The id of the event, the same at each try. */
  readonly id: string;
  readonly timestampMs: number;
  readonly body: string;
  /** `whsec_...`: each of them signs. */
  readonly secrets: readonly string[];
}

/** The HTTP status of the answer, or why there was none. */
export type SendOutcome = { readonly status: number } | { readonly failure: string };

/** Sends requests to targets. */
export interface Outgoing {
  /** Why this URL cannot be a target, as the end of a sentence that begins with `url`; null = it can. */
  refusal(url: string): Promise<string | null>;
  /** Never throws. Ends early when the signal says so. */
  send(request: OutgoingRequest, signal: AbortSignal): Promise<SendOutcome>;
}

/** Encrypts texts for the database. `context` says whose text it is: it opens in no other place. */
export interface SecretBox {
  seal(text: string, context: string): string;
  /** null = it cannot be opened: it was sealed with a key that this process does not have, or was changed. */
  open(sealed: string, context: string): string | null;
}
