/** What the engine takes from its surroundings: time, randomness and the digest of a new secret. */
export interface System {
  readonly nowMs: () => number;
  readonly randomBytes: (length: number) => Uint8Array;
  /** What is stored of a secret, and what it is looked up by. */
  readonly digestSecret: (secret: string) => string;
  /** What a secret may have been stored under before a change of the pepper. */
  readonly olderDigests: (secret: string) => readonly string[];
}
