import { useRef, useState } from 'preact/hooks';

import type { Delivery, Webhook } from '../../sdk/src/generated/api.ts';
import { keystile, may, mayReadEventsOf } from '../client.ts';
import { nowMs } from '../clock.ts';
import { listDeliveries } from '../paged.ts';
import { Form } from '../ui/form.tsx';
import { Ago, Badge } from '../ui/show.tsx';
import { type Column, PagedTable } from '../ui/table.tsx';
import { from } from './pageOf.ts';

/** The clock of the page may be behind that of the service by this much. What is due then is being sent. */
const SOON_MS = 3_000;

/** What was sent to a webhook lately, and what waits. `awaited`: an event that is to be sent now. */
export function Deliveries({ of: webhook, awaited }: { readonly of: Webhook; readonly awaited: string | null }) {
  const { id: webhookId } = webhook;
  const [isOpen, setOpen] = useState(false);
  const [turn, setTurn] = useState(0);
  // Later events can push it off the first page.
  const seen = useRef<string | null>(null);
  const reload = (): void => setTurn((before) => before + 1);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Deliveries</summary>
      {isOpen && (
        <PagedTable<Delivery>
          caption={`Deliveries of ${webhookId}`}
          on={[webhookId, awaited, turn]}
          keyOf={({ eventId }) => eventId}
          empty="Nothing has been sent yet."
          load={async (cursor) => {
            const { deliveries, ...page } = await listDeliveries({ webhookId, ...from(cursor) });
            if (deliveries.some(({ eventId }) => eventId === awaited)) seen.current = awaited;
            const isSent = seen.current === awaited && !deliveries.some(isDue);
            // The event is awaited on the first page.
            return { rows: deliveries, ...page, isChanging: cursor === undefined && isActive(webhook) && !isSent };
          }}
          columns={maySendAgain(webhook) ? [...COLUMNS, sendAgain(webhookId, reload)] : COLUMNS}
        />
      )}
    </details>
  );
}

/** What is sent again is read by whoever has the target. */
function maySendAgain({ id, apis }: Webhook): boolean {
  return may('webhook.update_webhook', id) && mayReadEventsOf(apis);
}

export function isActive({ enabled, pausedBecause }: Webhook): boolean {
  return enabled && pausedBecause === undefined;
}

function isDue({ state, nextAttemptAt }: Delivery): boolean {
  const isBeingSent = nextAttemptAt === undefined;
  return state === 'waiting' && (isBeingSent || nextAttemptAt <= nowMs() + SOON_MS);
}

const COLUMNS: readonly Column<Delivery>[] = [
  { title: 'Event', cell: ({ type }) => type },
  {
    title: 'State',
    cell: ({ state }) => (
      <Badge kind={state === 'delivered' ? 'good' : state === 'failed' ? 'bad' : 'plain'}>{state}</Badge>
    ),
  },
  { title: 'Tries', isNumber: true, cell: ({ attempts }) => attempts },
  { title: 'Answer', cell: ({ lastStatus, lastError }) => lastStatus ?? lastError ?? '' },
  { title: 'Queued', cell: ({ queuedAt }) => <Ago at={queuedAt} /> },
];

function sendAgain(webhookId: string, reload: () => void): Column<Delivery> {
  return {
    title: 'Change',
    cell: ({ eventId }) => (
      <Form
        button="Send again"
        done="Queued."
        onSend={async () => {
          await keystile.webhooks.redeliver({ webhookId, eventId });
          reload();
        }}
      />
    ),
  };
}
