import { EXIT } from '../../serve/exitCodes.ts';
import type { Command } from '../command.ts';
import { askRootKeys } from '../rootKeyChannel.ts';
import { readSettings } from '../settings.ts';
import { jsonLine, visible } from '../output/show.ts';

export const rootKeyRevoke: Command = {
  name: 'root-key revoke',
  summary: 'Revoke a root key permanently.',
  operands: ['ID'],
  flags: {},
  examples: ['keystile root-key revoke rk_1Jm8ZtXg3kPp5FhJ9sQw2R'],
  async run({ io, flags, operands, isJson }) {
    const rootKeyId = operands[0] ?? '';
    const { config } = await readSettings(io, flags);
    await askRootKeys(config, { command: 'revoke', rootKeyId });
    io.out(isJson ? jsonLine({ rootKeyId }) : `Revoked ${visible(rootKeyId)}.\n`);
    return EXIT.OK;
  },
};
