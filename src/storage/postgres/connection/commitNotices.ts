import type { Client } from 'pg';

import { ConnectionLost } from './databaseError.ts';

/** A message that a server sends beside its answers. `severity` is in the language of the server (`lc_messages`), `code` is not. */
interface Notice {
  readonly code?: string | undefined;
  readonly message?: string | undefined;
}

/**
 * Why an answer with this notice is in doubt; null = it is not. If the wait of a commit for its standby is cancelled, the commit is
 * reported as done, with a warning. A warning has a SQLSTATE of class 01 or of its cause; plain information has class 00. Every connection
 * turns warnings on (connector.ts), whatever the server's default is.
 */
export function doubtOf({ code, message }: Notice): string | null {
  if (code?.startsWith('00') === true) return null;
  return `${message ?? 'warning'} [${code ?? 'no SQLSTATE'}]`;
}

/** Resolves with the answer, or rejects with ConnectionLost if a notice puts the answer in doubt. */
export async function withoutDoubt<T>(client: Client, ask: () => Promise<T>): Promise<T> {
  let doubt: string | null = null;
  const note = (notice: Notice): void => {
    doubt ??= doubtOf(notice);
  };
  client.on('notice', note);
  try {
    const answer = await ask();
    if (doubt !== null) throw new ConnectionLost(doubt);
    return answer;
  } finally {
    client.off('notice', note);
  }
}
