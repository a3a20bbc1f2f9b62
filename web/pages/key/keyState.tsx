import { nowMs } from '../../clock.ts';
import type { Key, KeyDetails } from '../../../sdk/src/generated/api.ts';
import { Badge } from '../../ui/show.tsx';

/** Whether verifications accept the key. */
export function KeyState({ of: { enabled, expires } }: { readonly of: Key | KeyDetails }) {
  if (!enabled) return <Badge kind="plain">Disabled</Badge>;
  if (expires !== undefined && expires <= nowMs()) return <Badge kind="bad">Expired</Badge>;
  return <Badge kind="good">Active</Badge>;
}
