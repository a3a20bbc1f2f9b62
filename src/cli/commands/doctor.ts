import { WrongSettings } from '../cliError.ts';
import type { Call, Command } from '../command.ts';
import type { ReadConfiguration } from '../doctor/examineAll.ts';
import type { Flags } from '../flags.ts';
import { LOAD } from '../load.ts';
import { jsonLine, visible } from '../output/print.ts';
import { readSettings } from '../settings.ts';
import { removedIn } from '../../config/read.ts';
import { type Outcome, quoted, withDatabaseUrl } from '../../doctor/check.ts';
import { EXIT } from '../../serve/exit.ts';

export const doctor: Command = {
  name: 'doctor',
  summary: 'Find out what is wrong with the service, its database and its machine. Changes nothing.',
  operands: [],
  flags: {},
  examples: ['keystile doctor', 'keystile doctor --env-file prod.env --json'],
  async run(call) {
    const configuration = await readConfiguration(call);
    const { examineAll } = await LOAD.doctor();
    const outcomes = (await examineAll(configuration)).map((outcome) => located(outcome, call.flags));
    const isOk = outcomes.every(({ result }) => result !== 'problem');
    call.io.out(call.isJson ? jsonLine({ isOk, checks: outcomes }) : showOutcomes(outcomes));
    return isOk ? EXIT.OK : EXIT.FAILED;
  },
};

/** Flags that say where the data is. --host and --port are left out: some commands change them. */
const PLACES = ['env-file', 'data'];
/** A command of Keystile, perhaps with variables, or as another user. */
const OF_KEYSTILE = /^(?:sudo -u \S+ )?(?:[A-Z_]+=\S+ )*keystile [a-z]/;

/** An address may hold a password: it is not repeated. */
const SHOWN_URL = 'postgres://...';

/** Adds the flags of this call to its commands. Without them, a command would act on what the environment names. */
function located(outcome: Outcome, flags: Flags): Outcome {
  if (!('command' in outcome)) return outcome;
  const isUrlGiven = flags.has('database-url');
  const places = PLACES.filter((name) => flags.has(name));
  const given = places.map((name) => ` --${name} ${quoted(flags.text(name) ?? '')}`);
  if (isUrlGiven) given.push(` --database-url ${quoted(SHOWN_URL)}`);
  const commands = outcome.command
    .split(' && ')
    .map((part) => (OF_KEYSTILE.test(part) ? part + given.join('') : part))
    .join(' && ');
  return { ...outcome, command: isUrlGiven ? withDatabaseUrl(commands, SHOWN_URL) : commands };
}

/** A configuration that is wrong is found by a check of its own, like everything else. */
async function readConfiguration({ io, flags }: Call): Promise<ReadConfiguration> {
  try {
    const { config, environment } = await readSettings(io, flags);
    return { config, removedSettings: removedIn(environment) };
  } catch (error) {
    if (error instanceof WrongSettings) return { settingProblems: error.lines };
    throw error;
  }
}

const WORDS = { ok: 'ok', advice: 'advice', problem: 'problem', 'not-checked': 'not checked' } as const;
const WORD_WIDTH = 'not checked'.length;

/** One line for each check. Below one that found something: what to do, and the command. */
function showOutcomes(outcomes: readonly Outcome[]): string {
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
  const found = problems === 0 ? 'No problems' : problems === 1 ? '1 problem' : `${problems} problems`;
  return `${found}, ${count('advice')} with advice, ${count('ok')} ok, ${count('not-checked')} not checked.`;
}
