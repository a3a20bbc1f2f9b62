import { EXIT } from '../../serve/exitCodes.ts';
import { withService } from '../ask.ts';
import type { Command } from '../command.ts';
import { type Key, keyRecord } from '../output/keyShown.ts';
import { jsonLine } from '../output/show.ts';

export const keyGet: Command = {
  name: 'key get',
  endpoint: 'keys.getKey',
  summary: 'Show a key. Its secret is not stored and cannot be shown again.',
  operands: ['ID'],
  flags: {},
  examples: ['keystile key get key_1Jm8ZtYh4mRr6GjK8uTx3S'],
  flagNames: { keyId: 'ID' },
  async run(call) {
    const [keyId] = call.operands;
    const key = await withService(call, (ask) => ask<Key>('keys.getKey', { keyId }));
    call.io.out(call.isJson ? jsonLine(key) : keyRecord(key));
    return EXIT.OK;
  },
};
