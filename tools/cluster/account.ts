import { readFileSync } from 'node:fs';
import { chown } from 'node:fs/promises';

/** The user that runs PostgreSQL. It refuses to run as root, so root has to use another user. */
export interface Account {
  /** Words that are put before the command. */
  readonly prefix: readonly string[];
  /** Owner of its processes and files. Null: the user of this process. */
  readonly ids: { readonly uid: number; readonly gid: number } | null;
}

let known: Account | null = null;

export function postgresAccount(): Account {
  return (known ??= chooseAccount());
}

function chooseAccount(): Account {
  if (process.getuid?.() !== 0) return { prefix: [], ids: null };
  const ids = nobody();
  // In a user namespace that has only root, PostgreSQL runs in a nested namespace that shows root as nobody. The files still
  // belong to root.
  const inNamespace = ['unshare', '--user', `--map-user=${ids.uid}`, `--map-group=${ids.gid}`, '--'];
  const accounts: Account[] = [
    { prefix: [], ids },
    { prefix: inNamespace, ids: null },
  ];
  const failures: unknown[] = [];
  for (const account of accounts) {
    try {
      const { exitCode, stderr } = Bun.spawnSync([...account.prefix, 'true'], { cwd: '/', ...account.ids });
      if (exitCode === 0) return account;
      failures.push(stderr);
    } catch (error) {
      failures.push(error);
    }
  }
  throw new Error(`PostgreSQL does not run as root, and no other user can run it here: ${failures.join('; ')}`);
}

/** The ids of the user `nobody`: initdb needs a user that has a name. */
function nobody(): { uid: number; gid: number } {
  const line = /^nobody:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'));
  return { uid: Number(line?.[1] ?? 65_534), gid: Number(line?.[2] ?? 65_534) };
}

/** Makes the user of PostgreSQL the owner of a file or folder. */
export async function give(path: string): Promise<void> {
  const { ids } = postgresAccount();
  if (ids !== null) await chown(path, ids.uid, ids.gid);
}

/** Options for Bun.spawn. The user may have no access to the current folder, and PG* variables of the caller must not apply. */
export function asPostgres(command: readonly string[]) {
  const { prefix, ids } = postgresAccount();
  return {
    cmd: [...prefix, ...command],
    cwd: '/',
    env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' },
    ...ids,
  };
}
