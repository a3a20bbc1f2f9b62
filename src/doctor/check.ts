import type { Problem } from '../engine/admin/status.ts';
import { type FactName, type Facts, type GatheredFacts, NotKnown } from './facts.ts';

/** What is wrong, what to do, and a command that does it or leads there. */
export type Finding = Pick<Problem, 'text' | 'fix' | 'command'> & {
  /** Where this case is graver, or less grave, than what the check finds otherwise. */
  readonly severity?: Problem['severity'];
};

interface CheckOf<N extends FactName> {
  readonly name: string;
  /** What is right when nothing is found, in one sentence. */
  readonly meaning: string;
  readonly severity: Problem['severity'];
  /** The facts that it looks at. When one of them is not known, nothing is checked. */
  readonly needs: readonly N[];
  /** What is wrong; null = nothing. */
  readonly find: (facts: Pick<Facts, N>) => Finding | null;
}

/** What a check has found. */
export type Outcome = { readonly name: string; readonly meaning: string } & (
  | { readonly result: 'ok' }
  | ({ readonly result: Problem['severity'] } & Omit<Finding, 'severity'>)
  | { readonly result: 'not-checked'; readonly because: string }
);

/** One thing that can be wrong with the service or with what it runs on. */
export interface Check {
  readonly name: string;
  readonly meaning: string;
  look(gathered: GatheredFacts): Outcome;
}

export function defineCheck<N extends FactName>({ name, meaning, severity, needs, find }: CheckOf<N>): Check {
  return {
    name,
    meaning,
    look(gathered) {
      for (const need of needs) {
        const fact = gathered[need];
        if (fact instanceof NotKnown) return { name, meaning, result: 'not-checked', because: fact.because };
      }
      try {
        // None of the facts that it needs is unknown.
        const finding = find(gathered as Facts);
        if (finding === null) return { name, meaning, result: 'ok' };
        const { severity: own = severity, ...told } = finding;
        return { name, meaning, result: own, ...told };
      } catch (error) {
        return { name, meaning, result: 'problem', ...ownFailure(error) };
      }
    },
  };
}

/** A check that fails hides none of the others. */
function ownFailure(error: unknown): Finding {
  return {
    text: `The check itself failed: ${error instanceof Error ? error.message : String(error)}.`,
    fix: 'This is a bug in Keystile. Please report it, with the version.',
    command: 'keystile --version',
  };
}

/** "5 s", "3 minutes": how long something lasts, for a sentence. */
export function lasting(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 120) return seconds === 1 ? '1 second' : `${seconds} seconds`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} minutes`;
  const hours = Math.round(minutes / 60);
  return hours < 72 ? `${hours} hours` : `${Math.round(hours / 24)} days`;
}

/** "a, b and 3 more": at most three names of many. */
export function some(names: readonly string[]): string {
  const shown = names.slice(0, 3).join(', ');
  return names.length > 3 ? `${shown} and ${names.length - 3} more` : shown;
}

const DATABASE_URL = '"${KEYSTILE_DATABASE_URL:?}"';

/** A call of psql on the database of the service. Without an address it would go to another database: the shell refuses it then. */
export function psql(...statements: readonly string[]): string {
  return `psql ${DATABASE_URL}${statements.map((statement) => ` -c '${statement}'`).join('')}`;
}

/** The command, with `url` in the place of the variable. */
export function withDatabaseUrl(command: string, url: string): string {
  return command.replaceAll(DATABASE_URL, quoted(url));
}

/** A word of a command, as a shell reads it. */
export function quoted(word: string): string {
  return /^[\w./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
