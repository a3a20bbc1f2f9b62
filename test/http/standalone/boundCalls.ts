import type { Answer, TestService } from '../../support/service.ts';

/** Calls of standalone limits under many identifiers. */
export function boundCalls(at: () => { readonly service: TestService }) {
  const limit = (identifier: string, fields: Record<string, unknown> = {}): Promise<Answer> =>
    at().service.call('/v1/ratelimits.limit', { identifier, limit: 5, duration: 60_000, ...fields });

  const named = (count: number, prefix = 'user'): string[] => Array.from({ length: count }, (_, i) => `${prefix}_${i}`);

  const sum = (codes: readonly number[], code: number): number => codes.filter((each) => each === code).length;

  return { limit, named, sum };
}
