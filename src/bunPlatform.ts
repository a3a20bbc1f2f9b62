import type { Pepper } from './config/kinds.ts';
import type { SecretBox } from './engine/admin/webhookPorts.ts';
import type { System } from './engine/platform.ts';

/** The only file that reads the real clock and the real source of randomness. */

export function monotonicMs(): number {
  return performance.now();
}

export function wallClockMs(): number {
  return Date.now();
}

/** Runs work at the end of this pass of the event loop, after what has arrived. */
export function afterOthers(work: () => void): void {
  setImmediate(work);
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

/** Loaded when a text is sealed or opened: it takes ten milliseconds, and most processes never need it. */
function nodeCrypto(): typeof import('node:crypto') {
  return process.getBuiltinModule('node:crypto');
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts with AES-256-GCM. A sealed text is `1.<name of the key>.<nonce, text and tag in base64>`. */
export class KeyedSecretBox implements SecretBox {
  /** The keys that open, and the one that seals, which is made when there is none yet. */
  readonly #keys: () => readonly Uint8Array[];
  readonly #sealingKey: () => Uint8Array;

  constructor(keys: () => readonly Uint8Array[], sealingKey: () => Uint8Array) {
    this.#keys = keys;
    this.#sealingKey = sealingKey;
  }

  seal(text: string, context: string): string {
    const key = this.#sealingKey();
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = nodeCrypto().createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(context));
    const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `1.${keyName(key)}.${sealed.toString('base64')}`;
  }

  open(sealed: string, context: string): string | null {
    const [version, name, body = ''] = sealed.split('.');
    const key = this.#keys().find((each) => keyName(each) === name);
    if (version !== '1' || key === undefined) return null;
    const bytes = Buffer.from(body, 'base64');
    try {
      const decipher = nodeCrypto()
        .createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES))
        .setAAD(Buffer.from(context));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
    } catch {
      return null;
    }
  }
}

/** Tells keys apart, and nothing about them. */
function keyName(key: Uint8Array): string {
  return Bun.SHA256.hash(key, 'hex').slice(0, 8);
}

export function newEncryptionKey(): Uint8Array {
  return randomBytes(32);
}

export function sha256Of(text: string): string {
  return Bun.SHA256.hash(text, 'hex');
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
    sha256: sha256Of,
    textReader,
  };
}
