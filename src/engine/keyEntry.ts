import { type AddressBlock, parseBlock } from '../core/address.ts';
import type { CreditsRecord, IdentityRecord } from '../core/records.ts';
import type { KeyWithIdentity } from '../storage/port.ts';
import { type AppliedLimit, asConfigured } from './limits.ts';

/** The parts of a key that most keys do not have: kept apart, so that a million plain keys fit in memory. */
export interface KeyExtras {
  readonly name: string | null;
  readonly meta: string | null;
  readonly environment: string | null;
  readonly allowedBlocks: readonly AddressBlock[] | null;
}

/** A key as verification needs it. Replaced as a whole when the key changes. */
export interface KeyEntry {
  readonly id: string;
  readonly apiId: string;
  readonly revision: number;
  readonly enabled: boolean;
  /** Infinity = never. */
  readonly expiresAtMs: number;
  readonly identity: IdentityRecord | null;
  readonly credits: CreditsRecord | null;
  /** null = none. */
  readonly limits: readonly AppliedLimit[] | null;
  readonly extras: KeyExtras | null;
  /** What the wire layer made of the descriptive fields; made once, on the first answer. */
  wire: string | null;
}

export function toKeyEntry({ key, identity }: KeyWithIdentity, apiId: string): KeyEntry {
  return {
    id: key.id,
    apiId,
    revision: key.revision,
    enabled: key.enabled,
    expiresAtMs: key.expiresAtMs ?? Infinity,
    identity,
    credits: key.credits,
    limits: key.limits.length === 0 ? null : key.limits.map(asConfigured),
    extras: toExtras(key),
    wire: null,
  };
}

export function toExtras(key: KeyWithIdentity['key']): KeyExtras | null {
  const { name, meta, environment, ipAllowlist } = key;
  if (name === null && meta === null && environment === null && ipAllowlist.length === 0) return null;
  const allowedBlocks = ipAllowlist.length === 0 ? null : ipAllowlist.flatMap((text) => parseBlock(text) ?? []);
  return { name, meta, environment, allowedBlocks };
}
