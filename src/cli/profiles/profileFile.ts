import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';

import { repeatable } from '../../core/errors.ts';
import { nearestName } from '../../core/nearest.ts';
import { writeDurably } from '../../storage/sqlite/file/dataFolder.ts';
import { failed, misused } from '../cliError.ts';
import type { Io } from '../io.ts';

/** One installation: where it is, and the root key for it. */
export interface Profile {
  readonly url: string;
  readonly rootKey: string;
}

export interface Profiles {
  /** The profile of commands that name none. Null: there is none. */
  readonly current: string | null;
  readonly profiles: ReadonlyMap<string, Profile>;
}

export const DEFAULT_PROFILE = 'default';

const NONE: Profiles = { current: null, profiles: new Map() };

/** Null: the environment names no home folder, so there are no profiles. */
export function profilePath({ environment }: Io): string | null {
  // An empty variable is as good as none, and one with a relative path would be another file in every folder.
  const folder = (name: string): string | null => {
    const path = environment[name] ?? '';
    return isAbsolute(path) ? path : null;
  };
  const home = folder('HOME') ?? folder('USERPROFILE');
  const config = folder('XDG_CONFIG_HOME') ?? (home === null ? null : join(home, '.config'));
  return config === null ? null : join(config, 'keystile', 'profiles.json');
}

export function readProfiles(io: Io): Profiles {
  const path = profilePath(io);
  const text = path === null ? null : readPrivately(path);
  return path === null || text === null ? NONE : parseProfiles(path, text);
}

/** Like ssh, refuses secrets that others can read. Null: there is no file. */
function readPrivately(path: string): string | null {
  try {
    const { mode } = statSync(path);
    if (process.platform !== 'win32' && (mode & 0o077) !== 0)
      throw failed(`Other users can read ${path}, which holds root keys. Run: chmod 600 ${path}`);
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    if (code === undefined) throw error;
    throw failed(`The file ${path} of the profiles cannot be read (${code}).`);
  }
}

function parseProfiles(path: string, text: string): Profiles {
  try {
    const { current, profiles } = JSON.parse(text) as { current: unknown; profiles: Record<string, Profile> };
    const entries = Object.entries(profiles);
    const isWhole = entries.every(([, { url, rootKey }]) => URL.canParse(url) && typeof rootKey === 'string');
    if (!isWhole || (current !== null && typeof current !== 'string')) throw new SyntaxError('not a file of profiles');
    return { current, profiles: new Map(entries) };
  } catch {
    throw failed(`The file ${path} is not a file of profiles. Delete it, and run keystile login again.`);
  }
}

/** The file is replaced as a whole, so that a full disk or a crash leaves the old one. */
export function writeProfiles(io: Io, { current, profiles }: Profiles): void {
  const path = profilePath(io);
  if (path === null) throw failed('Profiles need a home folder. Set HOME or XDG_CONFIG_HOME.');
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeDurably(path, `${JSON.stringify({ current, profiles: Object.fromEntries(profiles) }, null, 2)}\n`);
  } catch (error) {
    const code = (error as { code?: string }).code ?? String(error);
    throw failed(`The file ${path} of the profiles cannot be written (${code}). Nothing was stored.`);
  }
}

/** `from` is the flag or variable that named the profile. Null: an argument did. */
export function findProfile({ profiles }: Profiles, name: string, from: string | null): Profile {
  const found = profiles.get(name);
  if (found !== undefined) return found;
  const names = [...profiles.keys()];
  const near = nearestName(name, names);
  const hint =
    near === null ? 'keystile profile list shows them all, keystile login makes one.' : `Did you mean ${near}?`;
  const text =
    from === null ? `There is no profile ${repeatable(name)}.` : `${from} names no profile, got ${repeatable(name)}.`;
  throw misused(`${text} ${hint}`);
}

export function checkedName(name: string): string {
  if (/^[A-Za-z0-9][\w.-]{0,63}$/.test(name)) return name;
  throw misused(
    `NAME must have 1 to 64 letters, digits or the characters _ . -, and begin with a letter or digit, got ${repeatable(name)}.`,
  );
}
