import { EXIT } from '../../serve/exitCodes.ts';
import { withService } from '../ask.ts';
import type { Command } from '../command.ts';
import { confirm, serviceOf, YES_FLAG } from '../confirm.ts';
import { jsonLine } from '../output/show.ts';

export const webhookDelete: Command = {
  name: 'webhook delete',
  endpoint: 'webhooks.deleteWebhook',
  isDestructive: true,
  summary: 'Delete a webhook and its waiting deliveries.',
  operands: ['ID'],
  flags: YES_FLAG,
  examples: ['keystile webhook delete wh_1Jm8ZtYn7rWw2LpQ5yXz4Z'],
  flagNames: { webhookId: 'ID' },
  async run(call) {
    const [webhookId = ''] = call.operands;
    const what = `Delete the webhook ${webhookId} and its waiting deliveries`;
    await withService(
      call,
      (ask) => ask('webhooks.deleteWebhook', { webhookId }),
      (config) => confirm(call, 'webhook delete', what, serviceOf(config)),
    );
    call.io.out(call.isJson ? jsonLine({}) : 'deleted\n');
    return EXIT.OK;
  },
};
