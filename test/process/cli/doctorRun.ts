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
