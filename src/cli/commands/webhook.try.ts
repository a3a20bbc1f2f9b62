import { EXIT } from '../../serve/exitCodes.ts';
import { withService } from '../ask.ts';
import type { Command } from '../command.ts';
import { jsonLine, record } from '../output/show.ts';

export const webhookTry: Command = {
  name: 'webhook test',
  endpoint: 'webhooks.sendTest',
  summary: 'Send an event of the type webhook.test to a webhook.',
  operands: ['ID'],
  flags: {},
  examples: ['keystile webhook test wh_1Jm8ZtYn7rWw2LpQ5yXz4Z'],
  flagNames: { webhookId: 'ID' },
  async run(call) {
    const [webhookId] = call.operands;
    const sent = await withService(call, (ask) => ask<{ eventId: string }>('webhooks.sendTest', { webhookId }));
    call.io.out(call.isJson ? jsonLine(sent) : record([['event', sent.eventId]]));
    return EXIT.OK;
  },
};
