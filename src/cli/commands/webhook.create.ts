import { EXIT } from '../../serve/exitCodes.ts';
import { withService } from '../ask.ts';
import type { Command } from '../command.ts';
import { jsonLine, record } from '../output/show.ts';

/** The flag that chooses types of events. */
export const EVENT_FLAG = {
  event: {
    value: 'TYPE',
    meaning: 'Only events of this type, such as key.created (default: all).',
    isRepeatable: true,
  },
} as const;

export const webhookCreate: Command = {
  name: 'webhook create',
  endpoint: 'webhooks.createWebhook',
  summary: 'Send events to a URL. Its signing secret is shown only once.',
  operands: ['URL'],
  flags: {
    ...EVENT_FLAG,
    api: {
      value: 'ID',
      meaning: 'Only events of this api (default: events of everything).',
      isRepeatable: true,
    },
  },
  examples: ['keystile webhook create https://example.com/keystile --event key.created --event key.deleted'],
  flagNames: { url: 'URL', events: '--event', apis: '--api' },
  async run(call) {
    const [url] = call.operands;
    const [events, apis] = [call.flags.list('event'), call.flags.list('api')];
    const body = { url, ...(events.length === 0 ? {} : { events }), ...(apis.length === 0 ? {} : { apis }) };
    const made = await withService(call, (ask) =>
      ask<{ webhookId: string; secret: string }>('webhooks.createWebhook', body),
    );
    call.io.out(
      call.isJson
        ? jsonLine(made)
        : record([
            ['id', made.webhookId],
            ['secret', made.secret],
          ]),
    );
    if (!call.isJson) call.io.err('This secret is shown only once. Store it now.\n');
    return EXIT.OK;
  },
};
