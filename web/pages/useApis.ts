import { keystile } from '../client.ts';
import { listApis } from '../paged.ts';
import { type Loaded, useLoaded } from '../ui/useLoaded.ts';
import type { Api } from '../../sdk/src/generated/api.ts';

/** So many records a choice offers. */
export const OFFERED = 100;

/** Says that a choice may not offer all of them; undefined where it does. */
export function firstOnly(offered: readonly unknown[], what: 'apis' | 'plans'): string | undefined {
  if (offered.length < OFFERED) return undefined;
  return `Only the first ${OFFERED} ${what} are listed. For another one, open its page and go to its keys.`;
}

/** The apis that a form or a filter offers, and always the one that was asked for ('' = none was). */
export function useApis(asked: string): Loaded<readonly Api[]> {
  return useLoaded(async () => {
    const { apis } = await listApis({ limit: OFFERED });
    if (asked === '' || apis.some(({ id }) => id === asked)) return apis;
    return [await keystile.apis.get({ apiId: asked }), ...apis];
  }, [asked]);
}
