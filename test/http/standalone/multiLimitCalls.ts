import type { TestService } from '../../support/service.ts';

export interface Asked {
  readonly identifier: string;
  readonly limit?: number;
  readonly cost?: number;
  readonly async?: boolean;
  readonly namespace?: string;
  readonly duration?: number;
  readonly resources?: object[];
}

/** Calls of several limits in a test's own namespace. */
export function multiLimitCalls(at: () => { readonly service: TestService; readonly namespace: string }) {
  const body = (asked: readonly Asked[]) => ({
    limits: asked.map((each) => ({ namespace: at().namespace, limit: 5, duration: 60_000, ...each })),
  });

  const multi = (...asked: Asked[]) => at().service.ok('/v1/ratelimits.multiLimit', body(asked));

  return { body, multi };
}
