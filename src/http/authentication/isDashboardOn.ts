import { isLoopback } from '../../core/address.ts';
import type { Config } from '../../config/variables.ts';

/** The dashboard is served. Without a setting, only this machine can open it. */
export function isDashboardOn({ dashboard, host }: Config): boolean {
  return dashboard ?? isLoopback(host);
}
