import type { PlanMove } from '../../sdk/src/generated/api.ts';
import { keystile } from '../client.ts';
import { listPlans } from '../paged.ts';
import { DialogButton, Form, SelectField, textOf } from '../ui/form.tsx';
import { Showing, Time } from '../ui/show.tsx';
import { useLoaded } from '../ui/useLoaded.ts';

interface PlanName {
  readonly id: string;
  readonly name: string;
}

interface Assigned {
  readonly holder: { readonly keyId: string } | { readonly externalId: string };
  readonly present: PlanName | undefined;
  /** A move that waits for the next refill. */
  readonly move?: PlanMove | undefined;
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

function AssignForm({ holder, present, move, reload, close }: Assigned & { readonly close: () => void }) {
  const plans = useLoaded(async () => (await listPlans({ limit: 100 })).plans, []);
  return (
    <Showing loaded={plans}>
      {(known) => (
        <Form
          button="Assign"
          onSend={async (data) => {
            await keystile.plans.assign({
              ...holder,
              planId: textOf(data, 'planId') ?? null,
              when: textOf(data, 'when') as 'now' | 'nextRefill',
              balance: textOf(data, 'balance') as 'keep' | 'reset',
            });
            close();
            reload();
          }}
        >
          {move !== undefined && (
            <p class="notice">
              A move to {nameOf(known, move.planId)} waits until <Time at={move.at} />. Assigning anew replaces it.
            </p>
          )}
          <SelectField
            label="Plan"
            name="planId"
            options={[['', 'no plan'], ...offered(known, present).map(({ id, name }) => [id, name] as const)]}
            defaultValue={present?.id ?? ''}
          />
          <SelectField
            label="When"
            name="when"
            options={[
              ['now', 'now'],
              ['nextRefill', 'at the next refill'],
            ]}
          />
          <SelectField
            label="Balance"
            name="balance"
            options={[
              ['keep', 'keep the credits that are left'],
              ['reset', 'begin with the credits of the new plan'],
            ]}
          />
        </Form>
      )}
    </Showing>
  );
}

/** The present plan is always among them: otherwise the form would take it away. */
function offered(plans: readonly PlanName[], present: PlanName | undefined): readonly PlanName[] {
  return present === undefined || plans.some(({ id }) => id === present.id) ? plans : [present, ...plans];
}

function nameOf(plans: readonly PlanName[], planId: string | null): string {
  return planId === null ? 'no plan' : (plans.find(({ id }) => id === planId)?.name ?? planId);
}
