import { expect } from 'bun:test';

import type { Prepared } from './auditCases.ts';
import type { AuditSetup } from './auditSetup.ts';

const URL_WITH_TOKEN = 'https://example.com/hook?token=1';
const SHOWN = { url: 'https://example.com/hook', enabled: true, paused: false };

/** The query of a URL may hold a token of the target: the log leaves it out. */
export const WEBHOOK_CASES: Readonly<Record<string, (setup: AuditSetup) => Promise<Prepared>>> = {
  'webhooks.createWebhook': async () => ({
    body: { url: URL_WITH_TOKEN, events: ['key.created'] },
    expected: ({ webhookId }) => [['webhook.create', webhookId, undefined, { ...SHOWN, events: ['key.created'] }]],
  }),
  'webhooks.updateWebhook': async (setup) => {
    const webhookId = await webhook(setup);
    return {
      body: { webhookId, enabled: false },
      expected: () => [['webhook.update', webhookId, { enabled: true }, { enabled: false }]],
    };
  },
  'webhooks.deleteWebhook': async (setup) => {
    const webhookId = await webhook(setup);
    return { body: { webhookId }, expected: () => [['webhook.delete', webhookId, SHOWN, undefined]] };
  },
  'webhooks.rotateSecret': async (setup) => {
    const webhookId = await webhook(setup);
    return {
      body: { webhookId, overlapMs: 5 },
      expected: () => [['webhook.rotateSecret', webhookId, {}, { overlapMs: 5 }]],
    };
  },
  'webhooks.sendTest': async (setup) => {
    const webhookId = await webhook(setup);
    return {
      body: { webhookId },
      expected: ({ eventId }) => [['webhook.sendTest', webhookId, undefined, { eventId }]],
    };
  },
  'webhooks.redeliver': async (setup) => {
    const webhookId = await webhook(setup);
    const { eventId } = await setup.ok('webhooks.sendTest', { webhookId });
    expect(eventId).toStartWith('evt_');
    return {
      body: { webhookId, eventId },
      expected: () => [['webhook.redeliver', webhookId, undefined, { eventId }]],
    };
  },
};

async function webhook(setup: AuditSetup): Promise<string> {
  return (await setup.ok('webhooks.createWebhook', { url: URL_WITH_TOKEN })).webhookId as string;
}
