import { useState } from 'preact/hooks';

import type { KeyDetails, KeysUpdateRemainingRequest } from '../../../sdk/src/generated/api.ts';
import { keystile, may } from '../../client.ts';
import { DeleteButton, DialogButton, Form, numberOf, SelectField, textOf, TextField } from '../../ui/form.tsx';
import { Copyable } from '../../ui/show.tsx';
import { ToggleButton } from '../../ui/toggle.tsx';
import { AssignPlan } from '../assignPlan.tsx';
import { ChangeCredits, type CreditsChange } from '../changeCredits.tsx';
import { EditKey } from './editKey.tsx';

const HOUR_MS = 3_600_000;

/** How long the former secret stays valid. 30 days are the most. */
const OVERLAPS = [
  [String(24 * HOUR_MS), 'a day'],
  [String(HOUR_MS), 'an hour'],
  [String(7 * 24 * HOUR_MS), '7 days'],
  [String(30 * 24 * HOUR_MS), '30 days'],
  ['0', 'not at all: it ends immediately'],
  ['other', 'another number of hours'],
] as const;

export function KeyActions({ of: key, reload }: { readonly of: KeyDetails; readonly reload: () => void }) {
  const [secret, setSecret] = useState<string | null>(null);
  const mayUpdate = may('api.update_key', key.apiId);
  return (
    <div class="actions">
      {secret !== null && (
        <p class="notice" role="status">
          Copy the new secret now. It is shown only once: <Copyable label="the new secret" text={secret} />
        </p>
      )}
      {mayUpdate && <EditKey of={key} reload={reload} />}
      {mayUpdate && (
        <ChangeCredits
          hasCredits={key.remaining !== undefined}
          onChange={async (change) => {
            await keystile.keys.updateRemaining({ keyId: key.id, ...toCall(change) });
            reload();
          }}
        />
      )}
      {mayUpdate && key.identity === undefined && may('plan.assign_plan') && (
        <AssignPlan
          holder={{ keyId: key.id }}
          present={key}
          read={() => keystile.keys.get({ keyId: key.id })}
          reload={reload}
        />
      )}
      {mayUpdate && (
        <>
          <ToggleButton
            isOn={key.enabled}
            what="key"
            explains={{
              on: 'Verifications are answered again.',
              off: 'Verifications answer DISABLED immediately. You can enable it again.',
            }}
            onToggle={async (enabled) => {
              await keystile.keys.update({ keyId: key.id, enabled });
              reload();
            }}
          />
          {may('api.create_key', key.apiId) && (
            <DialogButton label="Rotate" title="Give the key a new secret">
              {(close) => (
                <Rotate
                  onSend={async (overlapMs) => {
                    setSecret((await keystile.keys.rotate({ keyId: key.id, overlapMs })).key);
                    close();
                    reload();
                  }}
                />
              )}
            </DialogButton>
          )}
        </>
      )}
      {may('api.delete_key', key.apiId) && (
        <DeleteButton
          label="Delete the key"
          name={key.start}
          explains="Verifications answer NOT_FOUND immediately. You can restore the key on this page afterwards."
          onDelete={async () => {
            await keystile.keys.delete({ keyId: key.id });
            reload();
          }}
        />
      )}
    </div>
  );
}

function toCall(change: CreditsChange): Pick<KeysUpdateRemainingRequest, 'op' | 'value'> {
  if ('set' in change) return { op: 'set', value: change.set };
  return { op: change.add < 0 ? 'decrement' : 'increment', value: Math.abs(change.add) };
}

function Rotate({ onSend }: { readonly onSend: (overlapMs: number) => Promise<void> }) {
  const [choice, setChoice] = useState<string>(OVERLAPS[0][0]);
  return (
    <Form
      button="Rotate"
      onSend={async (data) => {
        const chosen = textOf(data, 'overlap') ?? '0';
        await onSend(chosen === 'other' ? (numberOf(data, 'hours') ?? 0) * HOUR_MS : Number(chosen));
      }}
    >
      <p>The key keeps its id, credits and limits. Its old secret can stay valid until its user has the new one.</p>
      <div onChange={(event) => setChoice((event.target as HTMLSelectElement).value)}>
        <SelectField label="The old secret stays valid for" name="overlap" options={OVERLAPS} />
      </div>
      {choice === 'other' && (
        <TextField label="Hours" name="hours" type="number" min={0} required hint="At most 720." />
      )}
    </Form>
  );
}
