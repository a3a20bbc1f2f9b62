import type { Verdict } from '../../engine/verify/verdict.ts';
import type { Service } from '../service.ts';
import { type HeaderPair, verdictHeaders } from './verdictHeaders.ts';
import { verdictBytes, verdictText } from './verdictText.ts';

/** Gives a verdict as the front and the general handler send it. */
export interface VerdictWriter {
  /** The body, with a new request id. */
  text(verdict: Verdict): string;
  /** How many bytes this body has. */
  bytes(verdict: Verdict, text: string): number;
  headers(verdict: Verdict): readonly HeaderPair[] | null;
}

export function makeVerdictWriter({ requestIds, config }: Service): VerdictWriter {
  const { ratelimitHeaders } = config;
  return {
    text: (verdict) => verdictText(verdict, requestIds.next()),
    bytes: verdictBytes,
    headers: (verdict) => verdictHeaders(verdict, ratelimitHeaders),
  };
}
