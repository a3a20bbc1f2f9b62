import { inBlock, parseAddress, parseBlock } from '../../core/address.ts';
import type { Config } from '../../config/variables.ts';

const LOOPBACK = ['127.0.0.0/8', '::1/128'].flatMap((text) => parseBlock(text) ?? []);

/** The dashboard is served. Without a setting, only this machine can open it. */
export function isDashboardOn({ dashboard, host }: Config): boolean {
  return dashboard ?? isLoopback(host);
}

/** A host that only this machine reaches. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost') return true;
  const address = parseAddress(host.replace(/^\[(.*)\]$/, '$1'));
  return address !== null && LOOPBACK.some((block) => inBlock(address, block));
}
