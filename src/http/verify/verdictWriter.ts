import type { Verdict } from '../../engine/verify/verdict.ts';
import type { Service } from '../service.ts';
import { headerLines, headerPairs, type VerdictHeader } from './verdictHeaders.ts';
import { verdictBytes, verdictText, withExplanation } from './verdictText.ts';

/** Gives a verdict as the front sends it. */
export interface VerdictWriter {
  /** The body, with a new request id. */
  text(verdict: Verdict): string;
  /** How many bytes this body has. */
  bytes(verdict: Verdict, text: string): number;
  /** Its headers beside those that every answer has, as lines. */
  headerLines(verdict: Verdict): string;
}

/** The same for the general handler, whose answers have their headers as pairs. */
export interface GeneralVerdictWriter extends VerdictWriter {
  headerPairs(verdict: Verdict): readonly VerdictHeader[];
}

const JSON_HEADER = ['content-type', 'application/json'] as const;

/** An answer of the general handler with a verdict. */
export function verdictResponse(
  verdicts: GeneralVerdictWriter,
  verdict: Verdict,
  text: string,
  { url }: Request,
): Response {
  const isPretty = url.includes('?') && new URL(url).searchParams.has('pretty');
  return new Response(isPretty ? JSON.stringify(JSON.parse(text), null, 2) : text, {
    headers: [JSON_HEADER, ...verdicts.headerPairs(verdict)].map(([name, value]) => [name, value]),
  });
}

export function makeVerdictWriter({ requestIds, config }: Service): GeneralVerdictWriter {
  const { ratelimitHeaders } = config;
  return {
    text(verdict) {
      const text = verdictText(verdict, requestIds.next());
      return verdict.explanation === undefined ? text : withExplanation(text, verdict.explanation);
    },
    bytes: (verdict, text) =>
      verdict.explanation === undefined ? verdictBytes(verdict, text) : Buffer.byteLength(text),
    headerLines: (verdict) => headerLines(verdict, ratelimitHeaders),
    headerPairs: (verdict) => headerPairs(verdict, ratelimitHeaders),
  };
}
