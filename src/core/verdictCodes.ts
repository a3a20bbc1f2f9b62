/** The words for a code of a verdict, wherever it is shown. */
interface VerdictFacts {
  /** The HTTP status that the caller of a protected route gets. keys.verifyKey answers every verdict with 200. */
  readonly status: number;
  /** Why the service answers it, as a half sentence. */
  readonly means: string;
  /** What the caller of a protected route is told. */
  readonly told: string;
  /** Its name and its colour in charts. */
  readonly label: string;
  readonly color: string;
}

/** All codes. The place of each is its number in analytics, so a new one comes last. */
export const VERDICTS = {
  VALID: { status: 200, means: 'the request may pass', told: '', label: 'Valid', color: 'good' },
  NOT_FOUND: {
    status: 401,
    means: 'there is no such key',
    told: 'The API key is missing or unknown.',
    label: 'Unknown key',
    color: 'dark',
  },
  FORBIDDEN: {
    status: 403,
    means: 'the key belongs to another api, or the address is not allowed',
    told: 'The API key may not be used here.',
    label: 'Forbidden',
    color: 'bad',
  },
  DISABLED: {
    status: 401,
    means: 'the key or its customer is disabled',
    told: 'The API key is disabled.',
    label: 'Disabled',
    color: 'grey',
  },
  EXPIRED: {
    status: 401,
    means: 'the key has expired',
    told: 'The API key has expired.',
    label: 'Expired',
    color: 'violet',
  },
  INSUFFICIENT_PERMISSIONS: {
    status: 403,
    means: 'the key lacks a permission that the request asks for',
    told: 'The API key lacks a permission that this request needs.',
    label: 'Lacks permissions',
    color: 'blue',
  },
  RATE_LIMITED: {
    status: 429,
    means: 'a rate limit is used up',
    told: 'The API key has reached its rate limit.',
    label: 'Rate limited',
    color: 'amber',
  },
  USAGE_EXCEEDED: {
    status: 429,
    means: 'not enough credits are left',
    told: 'The API key has no credits left for this request.',
    label: 'Out of credits',
    color: 'orange',
  },
} as const satisfies Readonly<Record<string, VerdictFacts>>;

export type VerdictCode = keyof typeof VERDICTS;

export const VERDICT_CODES = Object.keys(VERDICTS) as readonly VerdictCode[];

/** As charts and tables show them: the most frequent first. */
export const SHOWN_VERDICTS: readonly VerdictCode[] = [
  'VALID',
  'RATE_LIMITED',
  'USAGE_EXCEEDED',
  'EXPIRED',
  'DISABLED',
  'INSUFFICIENT_PERMISSIONS',
  'FORBIDDEN',
  'NOT_FOUND',
];

/** The field of its count in an answer: `rateLimited`. */
export function countField(code: VerdictCode): string {
  return code.toLowerCase().replaceAll(/_[a-z]/g, (letter) => letter.charAt(1).toUpperCase());
}
