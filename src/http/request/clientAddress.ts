import { type Address, type AddressBlock, inBlock, parseAddress } from '../../core/address.ts';

/**
 * The address of the caller: the peer, or, if the peer is a trusted proxy, the last address in X-Forwarded-For that is not a
 * trusted proxy. The header of any other peer is ignored.
 */
export function callerAddress(
  peer: string | null,
  forwardedFor: string | null,
  trusted: readonly AddressBlock[],
): Address | null {
  const peerAddress = peer === null ? null : parseAddress(peer);
  if (peerAddress === null || forwardedFor === null || !isTrusted(peerAddress, trusted)) return peerAddress;
  for (const text of forwardedFor.split(',').toReversed()) {
    const address = parseAddress(text.trim());
    if (address === null || !isTrusted(address, trusted)) return address;
  }
  return peerAddress;
}

function isTrusted(address: Address, trusted: readonly AddressBlock[]): boolean {
  return trusted.some((block) => inBlock(address, block));
}
