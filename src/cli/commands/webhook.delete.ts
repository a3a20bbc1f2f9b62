import { EXIT } from '../../serve/exitCodes.ts';
import { withService } from '../ask.ts';
import type { Command } from '../command.ts';
import { jsonLine } from '../output/show.ts';

export const webhookDelete: Command = {
  name: 'webhook delete',
  summary: 'Delete a webhook and its waiting deliveries.',
  operands: ['ID'],
  flags: {},
  examples: ['keystile webhook delete wh_1Jm8ZtYn7rWw2LpQ5yXz4Z'],
  async run(call) {
    const [webhookId] = call.operands;
    await withService(call, (ask) => ask('webhooks.deleteWebhook', { webhookId }));
    call.io.out(call.isJson ? jsonLine({}) : 'deleted\n');
    return EXIT.OK;
  },
};
