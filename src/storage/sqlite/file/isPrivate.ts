import { lstatSync } from 'node:fs';

/** This is a folder of this user, which nobody else can look into or change; no link. */
export function isPrivate(folder: string, uid: number): boolean {
  try {
    const found = lstatSync(folder);
    return found.isDirectory() && found.uid === uid && (found.mode & 0o077) === 0;
  } catch {
    return false;
  }
}
