/** What the engine takes from its surroundings: time, randomness and the digest of a new secret. */
export interface System {
  nowMs(): number;
  randomBytes(length: number): Uint8Array;
  /** What is stored of a secret, and what it is looked up by. */
  digestSecret(secret: string): string;
  /** What a secret may have been stored under before a change of the pepper. */
  olderDigests(secret: string): readonly string[];
}
