/**
 * Encodes bytes as one big-endian number, padded to the width of the largest value of this length. Inputs of equal length give
 * outputs of equal length, and no bit is lost or biased.
 */
export declare function base58(bytes: Uint8Array): string;
/** How many base58 characters hold `byteLength` bytes. */
export declare function base58Length(byteLength: number): number;
/** Encodes a non-negative integer in at least `width` characters. Strings of one width sort like their numbers. */
export declare function base58Number(value: number, width: number): string;
