import { namedAsGiven } from '../../config/read.ts';
import type { Outcome } from '../../doctor/check.ts';
import { EXIT } from '../../serve/exitCodes.ts';
import type { Call, Command } from '../command.ts';
import { WrongSettings } from '../cliError.ts';
import type { ReadConfiguration } from '../doctor/examineAll.ts';
import { showOutcomes } from '../doctor/showOutcomes.ts';
import { LOAD } from '../load.ts';
import { jsonLine } from '../output/show.ts';
import { readSettings } from '../settings.ts';

export const doctor: Command = {
  name: 'doctor',
  summary: 'Find out what is wrong with the service, its database and its machine. Changes nothing.',
  operands: [],
  flags: {},
  examples: ['keystile doctor', 'keystile doctor --env-file prod.env --json'],
  async run(call) {
    const configuration = await readConfiguration(call);
    const { examineAll } = await LOAD.doctor();
    const outcomes = (await examineAll(configuration)).map((outcome) => named(outcome, configuration));
    const isOk = outcomes.every(({ result }) => result !== 'problem');
    call.io.out(call.isJson ? jsonLine({ isOk, checks: outcomes }) : showOutcomes(outcomes));
    return isOk ? EXIT.OK : EXIT.FAILED;
  },
};

/** A setting that was given as a flag is named by the flag, but not in a command, which is run without it. */
function named(outcome: Outcome, configuration: ReadConfiguration): Outcome {
  if (!('config' in configuration) || !('text' in outcome)) return outcome;
  const { origins } = configuration.config;
  return { ...outcome, text: namedAsGiven(outcome.text, origins), fix: namedAsGiven(outcome.fix, origins) };
}

/** A configuration that is wrong is found by a check of its own, like everything else. */
async function readConfiguration({ io, flags }: Call): Promise<ReadConfiguration> {
  try {
    return { config: (await readSettings(io, flags)).config };
  } catch (error) {
    if (error instanceof WrongSettings) return { settingProblems: error.lines };
    throw error;
  }
}
