/** The name of the limit that a key's `ratelimit` sets. */
export const DEFAULT_LIMIT_NAME = 'default';
