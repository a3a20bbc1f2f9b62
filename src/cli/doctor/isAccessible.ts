import { accessSync } from 'node:fs';

/** Whether this user has this access, by the bits of `constants`. */
export function isAccessible(path: string, access: number): boolean {
  try {
    accessSync(path, access);
    return true;
  } catch {
    return false;
  }
}
