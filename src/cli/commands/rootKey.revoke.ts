import { EXIT } from '../../serve/exitCodes.ts';
import type { Command } from '../command.ts';
import { confirm, databaseOf, YES_FLAG } from '../confirm.ts';
import { askRootKeys } from '../rootKeyChannel.ts';
import { readSettings } from '../settings.ts';
import { jsonLine, visible } from '../output/show.ts';

export const rootKeyRevoke: Command = {
  name: 'root-key revoke',
  dataFlags: ['data', 'database-url'],
  endpoint: 'rootKeys.revokeRootKey',
  takesProfile: false,
  isDestructive: true,
  summary: 'Revoke a root key permanently.',
  operands: ['ID'],
  flags: YES_FLAG,
  examples: ['keystile root-key revoke rk_1Jm8ZtXg3kPp5FhJ9sQw2R'],
  async run(call) {
    const { io, flags, operands, isJson } = call;
    const rootKeyId = operands[0] ?? '';
    const { config } = await readSettings(io, flags);
    await confirm(call, 'root-key revoke', `Revoke the root key ${rootKeyId} for good`, databaseOf(config));
    await askRootKeys(config, { command: 'revoke', rootKeyId });
    io.out(isJson ? jsonLine({ rootKeyId }) : `Revoked ${visible(rootKeyId)}.\n`);
    return EXIT.OK;
  },
};
