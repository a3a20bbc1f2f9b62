import { EXIT } from '../../../serve/exitCodes.ts';
import { failed } from '../../cliError.ts';
import type { Command } from '../../command.ts';
import { confirm, databaseOf, YES_FLAG } from '../../confirm.ts';
import { LOAD_MOVE } from './loadMove.ts';
import { jsonLine } from '../../output/show.ts';
import { readDataSettings } from './dataSettings.ts';

export const dataRelease: Command = {
  name: 'data release',
  dataFlags: ['data', 'database-url'],
  summary: 'Let a service go on that was exported with --move.',
  description:
    'Only one of the two services may go on. What was spent or changed at the other one is not known here: its credits could be spent again.',
  operands: [],
  flags: YES_FLAG,
  isDestructive: true,
  examples: ['keystile data release --yes'],
  async run(call) {
    const { io, flags, isJson } = call;
    const { config } = await readDataSettings(io, flags);
    const what = `Let the service on ${databaseOf(config)} spend again. The exported data must then never be used`;
    await confirm(call, 'data release', what);
    const { releaseMove } = await LOAD_MOVE.hold();
    if (!(await releaseMove(config))) throw failed('This database was not moved. Nothing was changed.');
    io.out(isJson ? jsonLine({ released: true }) : 'released\n');
    return EXIT.OK;
  },
};
