import { listApis } from '../paged.ts';
import { useLoaded } from '../ui/useLoaded.ts';

/** The apis that a form or a filter offers. */
export function useApis() {
  return useLoaded(async () => (await listApis({ limit: 100 })).apis, []);
}
