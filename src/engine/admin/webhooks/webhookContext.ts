import type { AdminContext } from '../change/adminContext.ts';
import type { Outgoing, SecretBox } from './outgoing.ts';

/** What webhooks need beside the rest of management. */
export interface WebhookContext extends AdminContext {
  readonly outgoing: Outgoing;
  /** null = there is no key that encrypts signing secrets. */
  readonly secretBox: SecretBox | null;
}
