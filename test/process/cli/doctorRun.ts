import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

import type { Outcome } from '../../../src/doctor/check.ts';
import { keystile, type Ran } from './cliRun.ts';

/** Of each check, what it found. */
export interface Examined {
  readonly code: number;
  readonly isOk: boolean;
  /** The names of the checks with this result. */
  with(result: Outcome['result']): string[];
  find(name: string): Outcome | undefined;
}

/** Runs `keystile doctor --json`, which has nothing to say beside its answer. */
export async function examined(environment: Readonly<Record<string, string>>): Promise<Examined> {
  return toExamined(await keystile(['doctor', '--json'], { environment }));
}

export function toExamined({ code, out, err }: Ran): Examined {
  if (err !== '') throw new Error(err);
  const { isOk, checks } = JSON.parse(out) as { readonly isOk: boolean; readonly checks: readonly Outcome[] };
  return {
    code,
    isOk,
    with: (result) => checks.filter((each) => each.result === result).map(({ name }) => name),
    find: (name) => checks.find((each) => each.name === name),
  };
}

/** Every file of a folder with its bytes, its times and its permissions. */
export function snapshot(folder: string): string[] {
  return readdirSync(folder)
    .sort()
    .map((name) => {
      const path = join(folder, name);
      const found = statSync(path);
      const bytes = found.isFile() ? readFileSync(path) : '';
      return [name, found.mode, found.mtimeMs, found.size, Bun.hash(bytes)].join(' ');
    });
}
