import { readFileSync } from 'node:fs';
import { chown } from 'node:fs/promises';

/** As whom PostgreSQL runs: it refuses to run as root, and only root needs to be someone else. */
export interface Account {
  /** What stands before the command. */
  readonly prefix: readonly string[];
  /** Whom its processes and its files belong to, or null for those of this process. */
  readonly ids: { readonly uid: number; readonly gid: number } | null;
}

let known: Account | null = null;

export function postgresAccount(): Account {
  return (known ??= chooseAccount());
}

function chooseAccount(): Account {
  if (process.getuid?.() !== 0) return { prefix: [], ids: null };
  const ids = nobody();
  // A root without other users (in a user namespace of its own) can still be called by another name: this namespace
  // sees nobody where everybody else sees root, so the files stay root's.
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
  throw new Error(`PostgreSQL does not run as root, and root can be nobody else here: ${failures.join('; ')}`);
}

/** Looked up because initdb wants a user that has a name. */
function nobody(): { uid: number; gid: number } {
  const line = /^nobody:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'));
  return { uid: Number(line?.[1] ?? 65_534), gid: Number(line?.[2] ?? 65_534) };
}

/** Makes a file or folder PostgreSQL's own. */
export async function give(path: string): Promise<void> {
  const { ids } = postgresAccount();
  if (ids !== null) await chown(path, ids.uid, ids.gid);
}

/** For Bun.spawn. The working folder may be closed to the other user, and PG... variables of the caller must not count. */
export function asPostgres(command: readonly string[]) {
  const { prefix, ids } = postgresAccount();
  return {
    cmd: [...prefix, ...command],
    cwd: '/',
    env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' },
    ...ids,
  };
}
