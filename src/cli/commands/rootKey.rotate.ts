import { duration } from '../../config/kinds.ts';
import { MAX_OVERLAP_MS } from '../../core/bounds.ts';
import { EXIT } from '../../serve/exitCodes.ts';
import { misused } from '../cliError.ts';
import type { Command } from '../command.ts';
import { confirm, databaseOf, YES_FLAG } from '../confirm.ts';
import { kindFlag } from '../flagValues.ts';
import { jsonLine, record } from '../output/show.ts';
import { askRootKeys } from '../rootKeyChannel.ts';
import { readSettings } from '../settings.ts';

const OVERLAP = duration(0, MAX_OVERLAP_MS);

export const rootKeyRotate: Command = {
  name: 'root-key rotate',
  dataFlags: ['data', 'database-url'],
  endpoint: 'rootKeys.rotateRootKey',
  takesProfile: false,
  summary: 'Give a root key a new secret. Its id and rights stay.',
  operands: ['ID'],
  flags: {
    overlap: {
      value: 'DURATION',
      meaning: 'How long the old secret stays valid, from 0 to 30d. 0 ends every former secret at once. (required)',
    },
    ...YES_FLAG,
  },
  examples: ['keystile root-key rotate rk_1Jm8ZtXg3kPp5FhJ9sQw2R --overlap 1d'],
  async run(call) {
    const { io, flags, operands, isJson } = call;
    const [rootKeyId = ''] = operands;
    const overlapMs = kindFlag(flags, 'overlap', OVERLAP);
    if (overlapMs === undefined)
      throw misused('root-key rotate needs --overlap DURATION. See keystile root-key rotate --help.');
    const { config } = await readSettings(io, flags);
    const what = `Rotate ${rootKeyId}, and end its old secret and its sessions at once`;
    if (overlapMs === 0) await confirm(call, 'root-key rotate', what, databaseOf(config));
    const answer = await askRootKeys(config, { command: 'rotate', rootKeyId, overlapMs });
    if (!('rotated' in answer)) throw new Error('the answer does not belong to the command rotate');
    const { secret } = answer;
    io.out(
      isJson
        ? jsonLine({ rootKeyId, key: secret })
        : record([
            ['root key', secret],
            ['id', rootKeyId],
          ]),
    );
    if (!isJson) io.err('This root key is shown only once. Store it now.\n');
    return EXIT.OK;
  },
};
