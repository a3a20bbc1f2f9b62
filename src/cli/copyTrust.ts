import type { Flags, FlagTable } from './flags.ts';
import type { Config } from '../config/variables.ts';
import type { CopyTrust } from '../storage/sql/copySignature.ts';

const FLAG = 'accept-unsigned';

/** The flag of commands that read copies. */
export const ACCEPT_UNSIGNED: FlagTable = {
  [FLAG]: { value: null, meaning: 'Accept a copy without a signature although KEYSTILE_COPY_KEY is set.' },
};

export function trustOf({ copyKey }: Config, flags: Flags): CopyTrust {
  return { keys: copyKey ?? [], acceptsUnsigned: flags.has(FLAG) };
}
