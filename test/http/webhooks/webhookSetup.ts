import { TestService, type TestServiceOptions } from '../../support/service.ts';

export const DAY_MS = 86_400_000;
const PRIVATE = { KEYSTILE_WEBHOOK_ALLOW_PRIVATE: 'on' };

export interface Made {
  readonly webhookId: string;
  readonly secret: string;
}

/** One run of the task, and all that it has started. */
export async function deliver(service: TestService, warn: (message: string) => void = () => {}): Promise<void> {
  await service.engine.deliverEvents.run({ warn });
  await service.engine.deliverEvents.idle();
}

/** A service that sends to this machine. A target may take as long as it likes, unless a test says otherwise. */
export async function startWebhookService(options: TestServiceOptions = {}): Promise<TestService & AsyncDisposable> {
  const webhookTimeout = (): AbortSignal => new AbortController().signal;
  const service = await TestService.start({ settings: PRIVATE, webhookTimeout, ...options });
  return Object.assign(service, { [Symbol.asyncDispose]: () => service.close() });
}

export const create = (service: TestService, url: string, events?: readonly string[]): Promise<Made> =>
  service.ok('/v1/webhooks.createWebhook', { url, ...(events === undefined ? {} : { events }) }) as Promise<Made>;

export const deliveriesOf = async (service: TestService, webhookId: string) =>
  (await service.ok('/v1/webhooks.listDeliveries', { webhookId })).deliveries as Record<string, unknown>[];
