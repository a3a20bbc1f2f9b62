import { keystile } from '../client.ts';
import { listApis } from '../paged.ts';
import { type Loaded, useLoaded } from '../ui/useLoaded.ts';
import type { Api } from '../../sdk/src/generated/api.ts';

/** The apis that a form or a filter offers, and always the one that was asked for ('' = none was). */
export function useApis(asked: string): Loaded<readonly Api[]> {
  return useLoaded(async () => {
    const { apis } = await listApis({ limit: 100 });
    if (asked === '' || apis.some(({ id }) => id === asked)) return apis;
    return [await keystile.apis.get({ apiId: asked }), ...apis];
  }, [asked]);
}
