import type { Outcome } from '../../doctor/check.ts';
import { visible } from '../output/show.ts';

const WORDS = { ok: 'ok', advice: 'advice', problem: 'problem', 'not-checked': 'not checked' } as const;
const WORD_WIDTH = 'not checked'.length;

/** One line for each check. Below one that found something: what to do, and the command. */
export function showOutcomes(outcomes: readonly Outcome[]): string {
  const nameWidth = Math.max(...outcomes.map(({ name }) => name.length));
  const indent = ' '.repeat(WORD_WIDTH + nameWidth + 4);
  const lines = outcomes.flatMap((outcome) => {
    const begin = `${WORDS[outcome.result].padEnd(WORD_WIDTH)}  ${outcome.name.padEnd(nameWidth)}  `;
    const [first, ...more] = textsOf(outcome);
    return [begin + visible(first), ...more.map((text) => indent + visible(text))];
  });
  return [...lines, '', summary(outcomes), ''].join('\n');
}

function textsOf(outcome: Outcome): readonly [string, ...string[]] {
  switch (outcome.result) {
    case 'ok':
      return [outcome.meaning];
    case 'not-checked':
      return [`because ${outcome.because}`];
    default:
      return [outcome.text, outcome.fix, ...(outcome.command === '' ? [] : [`$ ${outcome.command}`])];
  }
}

function summary(outcomes: readonly Outcome[]): string {
  const count = (result: Outcome['result']): number => outcomes.filter((each) => each.result === result).length;
  const problems = count('problem');
  const found = problems === 0 ? 'No problem' : problems === 1 ? '1 problem' : `${problems} problems`;
  return `${found}, ${count('advice')} with advice, ${count('ok')} ok, ${count('not-checked')} not checked.`;
}
