import type { Static } from 'typebox';

import type { WebhookObject } from '../../http/shapes/webhookObject.ts';
import { EXIT } from '../../serve/exitCodes.ts';
import { withService } from '../ask.ts';
import type { Command } from '../command.ts';
import { jsonLine, showTime, table } from '../output/show.ts';

type Webhook = Static<typeof WebhookObject>;

export const webhookList: Command = {
  name: 'webhook list',
  endpoint: 'webhooks.listWebhooks',
  summary: 'List the webhooks, and whether they are paused.',
  operands: [],
  flags: {},
  examples: ['keystile webhook list'],
  async run(call) {
    const answer = await withService(call, (ask) => ask<{ webhooks: readonly Webhook[] }>('webhooks.listWebhooks', {}));
    const rows = answer.webhooks.map((webhook) => [
      webhook.id,
      stateOf(webhook),
      webhook.events?.join(', ') ?? 'all',
      webhook.apis?.join(', ') ?? 'all',
      webhook.url,
    ]);
    call.io.out(call.isJson ? jsonLine(answer) : table(['ID', 'STATE', 'EVENTS', 'APIS', 'URL'], rows));
    return EXIT.OK;
  },
};

function stateOf({ enabled, pausedAt }: Webhook): string {
  if (pausedAt !== undefined) return `paused ${showTime(pausedAt)}`;
  return enabled ? 'enabled' : 'disabled';
}
