/** What the engine takes from its surroundings: time, randomness and the digest of a new secret. */
export interface System {
  readonly nowMs: () => number;
  readonly randomBytes: (length: number) => Uint8Array;
  /** The digest that a secret is stored and found by. */
  readonly digestSecret: (secret: string) => string;
  /** Digests that a secret may have been stored under before the pepper changed. */
  readonly olderDigests: (secret: string) => readonly string[];
  /** The same for a secret of which only the SHA-256 is known, in base64. */
  readonly digestOfSha256: (sha256: string) => string;
  readonly olderDigestsOfSha256: (sha256: string) => readonly string[];
  /** The SHA-256 of a text, in hexadecimal. */
  readonly sha256: (text: string) => string;
  readonly textReader: TextReader;
}

/** Reads ASCII out of a block of memory, from one byte up to another. The runtime's own reader is twice as fast as a TextDecoder. */
export type TextReader = (memory: ArrayBuffer) => (start: number, end: number) => string;
