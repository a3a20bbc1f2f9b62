import { isLoopback } from '../core/address.ts';
import type { Config } from './variables.ts';

/** Whether keys that cross a network can be read by nobody, as far as the settings tell. */
export function isEncrypted({ host, tlsCert, network, publicUrl, trustedProxies }: Config): boolean {
  if (isLoopback(host) || tlsCert !== null || network === 'private') return true;
  return publicUrl === null ? trustedProxies !== null : publicUrl.startsWith('https://');
}

/** Whether others than this machine and trusted ones can verify keys without a root key, as far as the settings tell. */
export function isOpenToAll({ host, network, verifyAuth }: Config): boolean {
  return verifyAuth === 'open' && !isLoopback(host) && network !== 'private';
}

/** What is risky about the address that the service listens on, each with what to do. */
export function exposures(config: Config): string[] {
  const { host } = config;
  const found: string[] = [];
  if (!isEncrypted(config)) {
    found.push(
      `The service listens on ${host} without TLS: everyone on the way can read keys and root keys. Set KEYSTILE_TLS_CERT and KEYSTILE_TLS_KEY. Behind a proxy that ends TLS, set KEYSTILE_PUBLIC_URL to its https:// address. In a network that you trust, set KEYSTILE_NETWORK=private.`,
    );
  }
  if (isOpenToAll(config)) {
    found.push(
      `The service listens on ${host}, and verifying needs no root key: everyone who reaches it can try keys and spend their credits. Set KEYSTILE_VERIFY_AUTH=required. If only machines that you trust reach it, set KEYSTILE_NETWORK=private.`,
    );
  }
  return found;
}
