import { inBlock, parseAddress, parseBlock } from '../../core/address.ts';
import type { Config } from '../../config/variables.ts';

const LOOPBACK = ['127.0.0.0/8', '::1/128'].flatMap((text) => parseBlock(text) ?? []);

/** The dashboard is served. Without a setting, only this machine can open it. */
export function isDashboardOn({ dashboard, host }: Config): boolean {
  if (dashboard !== null) return dashboard;
  if (host === 'localhost') return true;
  const address = parseAddress(host);
  return address !== null && LOOPBACK.some((block) => inBlock(address, block));
}
