import { showConfig } from '../../config/show.ts';
import { EXIT } from '../../serve/exitCodes.ts';
import { CannotStart } from '../../serve/cannotStart.ts';
import type { Command } from '../command.ts';
import { CliError, misused } from '../cliError.ts';
import { LOAD } from '../load.ts';
import { readSettings } from '../settings.ts';
import { jsonLine, record } from '../output/show.ts';

export const serve: Command = {
  name: 'serve',
  summary: 'Run the service until SIGTERM or Ctrl-C stops it.',
  operands: [],
  flags: {
    'show-config': { value: null, meaning: 'Print the configuration with secrets as ***, and exit.' },
  },
  examples: ['keystile serve --port 7879 --data /var/lib/keystile', 'keystile serve --env-file prod.env --show-config'],
  async run({ io, flags, isJson }) {
    if (isJson && !flags.has('show-config'))
      throw misused('serve takes --json only with --show-config. For a JSON log, use --log-format json.');
    const { config, notes } = await readSettings(io, flags);
    for (const note of notes) io.err(`${note}\n`);
    if (flags.has('show-config')) {
      const shown = showConfig(config);
      io.out(isJson ? jsonLine(shown) : record(Object.entries(shown)));
      return EXIT.OK;
    }
    try {
      const { serve: serveUntilStopped } = await LOAD.serve();
      return await serveUntilStopped(config, {
        print: (text) => io.out(`${text}\n`),
        logLine: (line) => io.err(`${line}\n`),
        isTerminal: io.isTerminal,
        showsSecrets: io.showsSecrets,
      });
    } catch (error) {
      if (error instanceof CannotStart) throw new CliError(EXIT.CANNOT_START, [error.message]);
      throw error;
    }
  },
};
