export declare const PREFIX_PATTERN = '^[A-Za-z0-9_.-]{1,16}$';
export declare function crc32(text: string): number;
/** Makes `<prefix>_<random><checksum>`. The checksum covers everything before it. */
export declare function makeSecret(prefix: string | null, random: Uint8Array): string;
/** The prefix and the first characters of the random part. A person recognises a key by it, and nobody can use it as one. */
export declare function shownStart(prefix: string | null, secret: string): string;
/** The checksum fits: the secret was made here and typed right. It never decides a verdict, because imported keys have none. */
export declare function hasChecksum(secret: string): boolean;
/**
 * Only printable ASCII of bounded length is ever digested. An encoder maps other texts to the same bytes (every lone surrogate
 * becomes EF BF BD), and two secrets would share a digest.
 */
export declare function isSecretShaped(secret: string): boolean;
