import type { Pepper } from './config/kinds.ts';
import type { System } from './engine/system.ts';

/** The only file that reads the real clock and the real source of randomness. */

export function monotonicMs(): number {
  return performance.now();
}

export function wallClockMs(): number {
  return Date.now();
}

function randomBytes(length: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(length));
}

/** Throws when the source of randomness is visibly broken: all bytes are equal, or it repeats itself. */
export function checkRandomness(random: (length: number) => Uint8Array): void {
  const [a, b] = [random(32), random(32)];
  const isStuck = a.every((byte) => byte === a[0]) || a.every((byte, i) => byte === b[i]);
  if (isStuck) throw new Error('The random source of this machine repeats itself: no secret can be created.');
}

/** SHA-256 of the secret, or HMAC(pepper, SHA-256 of the secret), so that imported SHA-256 digests work with a pepper too. */
export class Digester {
  readonly #peppers: readonly Pepper[];

  constructor(peppers: readonly Pepper[] | null) {
    this.#peppers = peppers ?? [];
  }

  /** The digest that a new secret is stored under. */
  digest(secret: string): string {
    return this.ofSha256(Bun.SHA256.hash(secret, 'base64'));
  }

  get hasOlder(): boolean {
    return this.#peppers.length > 0;
  }

  /** Digests that the secret may have been stored under before: with older peppers, and without one. Empty when there are none. */
  older(secret: string): string[] {
    if (!this.hasOlder) return [];
    return this.olderOfSha256(Bun.SHA256.hash(secret, 'base64'));
  }

  /** The digest of a secret of which only the SHA-256 is known, in base64. */
  ofSha256(plain: string): string {
    const [newest] = this.#peppers;
    return newest === undefined ? plain : peppered(plain, newest);
  }

  olderOfSha256(plain: string): string[] {
    if (!this.hasOlder) return [];
    return [...this.#peppers.slice(1).map((pepper) => peppered(plain, pepper)), plain];
  }
}

function peppered(digest: string, { version, secret }: Pepper): string {
  return `${version}:${new Bun.CryptoHasher('sha256', secret).update(digest).digest('base64')}`;
}

/** Reads ASCII text from packed memory. Every verification reads ids this way. */
export function textReader(memory: ArrayBuffer): (start: number, end: number) => string {
  const bytes = Buffer.from(memory);
  return (start, end) => bytes.toString('latin1', start, end);
}

export function realSystem(digester: Digester): System {
  checkRandomness(randomBytes);
  return {
    nowMs: wallClockMs,
    randomBytes,
    digestSecret: (secret) => digester.digest(secret),
    olderDigests: (secret) => digester.older(secret),
    digestOfSha256: (sha256) => digester.ofSha256(sha256),
    olderDigestsOfSha256: (sha256) => digester.olderOfSha256(sha256),
    textReader,
  };
}
