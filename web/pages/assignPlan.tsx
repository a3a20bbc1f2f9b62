import type { PlanMove } from '../../sdk/src/generated/api.ts';
import { allOf } from '../allOf.ts';
import { keystile } from '../client.ts';
import { type EditedField, EditForm } from '../ui/edit/editForm.tsx';
import { choiceField } from '../ui/edit/fields.tsx';
import { DialogButton } from '../ui/form.tsx';
import { Showing, Time } from '../ui/show.tsx';
import { useLoaded } from '../ui/useLoaded.ts';

interface PlanName {
  readonly id: string;
  readonly name: string;
}

/** What of a customer or key belongs to its plan. */
interface Held {
  readonly plan?: PlanName | undefined;
  /** A move that waits for the next refill. */
  readonly planMove?: PlanMove | undefined;
}

interface Assigned {
  readonly holder: { readonly keyId: string } | { readonly externalId: string };
  readonly present: Held;
  readonly read: () => Promise<Held>;
  readonly reload: () => void;
}

/** Puts a customer, or a key without one, on a plan. */
export function AssignPlan(assigned: Assigned) {
  return (
    <DialogButton label="Change the plan" title="Change the plan">
      {(close) => <AssignForm {...assigned} close={close} />}
    </DialogButton>
  );
}

function AssignForm({ holder, present, read, reload, close }: Assigned & { readonly close: () => void }) {
  const plans = useLoaded(() => allOf(keystile.plans.list({})), []);
  const { planMove: move } = present;
  return (
    <Showing loaded={plans}>
      {(known) => (
        <>
          {move !== undefined && (
            <p class="notice">
              A move to {nameOf(known, move.planId)} is planned for <Time at={move.at} />. What you assign now replaces
              it.
            </p>
          )}
          <EditForm<Held>
            record={present}
            read={read}
            button="Assign"
            fields={fieldsOf(named(known, present.plan))}
            onSend={async (patch, { plan }) => {
              await keystile.plans.assign({ ...holder, planId: plan?.id ?? null, ...patch });
              close();
              reload();
            }}
          />
        </>
      )}
    </Showing>
  );
}

function fieldsOf(plans: readonly PlanName[]): readonly EditedField<Held>[] {
  const options = [['', 'no plan'] as const, ...plans.map(({ id, name }) => [id, name] as const)];
  return [
    {
      ...choiceField<Held>({ name: 'planId', label: 'Plan', options }, ({ plan }) => plan?.id ?? ''),
      inWords: (_planId, { plan }) => plan?.name ?? 'no plan',
      toPatch: (planId) => ({ planId: planId === '' ? null : planId }),
    },
    choiceField({ name: 'when', label: 'When', options: WHEN }, () => WHEN[0][0]),
    choiceField({ name: 'balance', label: 'Credits', options: BALANCE }, () => BALANCE[0][0]),
  ];
}

const WHEN = [
  ['now', 'now'],
  ['nextRefill', 'at the next refill'],
] as const;

const BALANCE = [
  ['upgrade', 'start with those of the new plan, and keep granted credits'],
  ['keep', 'keep them as they are'],
  ['reset', 'start with those of the new plan; granted credits are lost'],
] as const;

/** With the name of the present plan, also where the list does not reach it. */
function named(plans: readonly PlanName[], present: PlanName | undefined): readonly PlanName[] {
  return present === undefined || plans.some(({ id }) => id === present.id) ? plans : [present, ...plans];
}

function nameOf(plans: readonly PlanName[], planId: string | null): string {
  return planId === null ? 'no plan' : (plans.find(({ id }) => id === planId)?.name ?? planId);
}
