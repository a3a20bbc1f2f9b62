import type { Config } from '../config/variables.ts';
import { isSecretShaped } from '../core/secret.ts';
import { failed, misused } from './cliError.ts';
import type { Io } from './io.ts';
import { KEY_VARIABLE, STDIN } from './settings.ts';

export const HOW_TO_GIVE_ROOT_KEY =
  'Set KEYSTILE_ROOT_KEY or KEYSTILE_ROOT_KEY_FILE, or pipe it in with --root-key -. keystile login stores one. To create a root key, run keystile root-key create on the machine of the service.';

/** The configured root key, or the one that the user types. */
export async function loadRootKey(io: Io, config: Config): Promise<string> {
  if (config.rootKey !== null) return config.rootKey;
  const typed = io.askSecret === null ? '' : (await io.askSecret('Root key: ')).trim();
  if (typed === '') throw failed('This command needs a root key.', HOW_TO_GIVE_ROOT_KEY);
  // Other text is not valid in a header, and the error of the runtime would show it.
  if (!isSecretShaped(typed))
    throw failed(
      'A root key has only printable ASCII characters and no spaces. Copy the whole root key and nothing else.',
    );
  return typed;
}

interface GivenKey {
  readonly operand: string | undefined;
  readonly variable: string | undefined;
}

/** Whether the secret of a key is read from standard input. */
export function isKeyPiped(io: Io, { operand, variable }: GivenKey): boolean {
  return operand === STDIN || (operand === undefined && variable === undefined && io.askSecret === null);
}

/** The secret of a key: from the argument, standard input (`-` or a pipe), the environment, or typed by the user. */
export async function loadKey(io: Io, given: GivenKey & { readonly command: string }): Promise<string> {
  const key = (await findKey(io, given)).trim();
  if (key !== '') return key;
  throw misused(
    `${given.command} needs a key. Pipe it in, set ${KEY_VARIABLE}, or give it as an argument (other users can see arguments).`,
  );
}

async function findKey(io: Io, given: GivenKey): Promise<string> {
  if (isKeyPiped(io, given)) return io.readStdin();
  return given.operand ?? given.variable ?? io.askSecret?.('Key: ') ?? '';
}
