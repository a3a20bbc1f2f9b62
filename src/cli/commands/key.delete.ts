import { EXIT } from '../../serve/exitCodes.ts';
import { withService } from '../ask.ts';
import type { Command } from '../command.ts';
import { confirm, serviceOf, YES_FLAG } from '../confirm.ts';
import { jsonLine, visible } from '../output/show.ts';

export const keyDelete: Command = {
  name: 'key delete',
  endpoint: 'keys.deleteKey',
  isDestructive: true,
  summary: 'Delete a key. It is not valid any more as soon as the command answers.',
  operands: ['ID'],
  flags: { permanent: { value: null, meaning: 'Remove the record of the key too.' }, ...YES_FLAG },
  examples: [
    'keystile key delete key_1Jm8ZtYh4mRr6GjK8uTx3S',
    'keystile key delete key_1Jm8ZtYh4mRr6GjK8uTx3S --permanent --yes',
  ],
  flagNames: { keyId: 'ID' },
  async run(call) {
    const [keyId = ''] = call.operands;
    const permanent = call.flags.has('permanent');
    const what = `${permanent ? 'Delete the key and its record' : 'Delete the key'} ${keyId}`;
    await withService(
      call,
      (ask) => ask('keys.deleteKey', { keyId, permanent }),
      (config) => confirm(call, 'key delete', what, serviceOf(config)),
    );
    call.io.out(call.isJson ? jsonLine({ keyId, permanent }) : `Deleted ${visible(keyId)}.\n`);
    return EXIT.OK;
  },
};
