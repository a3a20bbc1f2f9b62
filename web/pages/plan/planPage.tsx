import type { Plan } from '../../../sdk/src/generated/api.ts';
import { keystile, may } from '../../client.ts';
import { goTo, hrefOf } from '../../router.ts';
import { EditForm } from '../../ui/edit/editForm.tsx';
import { DeleteButton, DialogButton } from '../../ui/form.tsx';
import { alertWords, Copyable, Count, Facts, limitWords, refillWords, Showing } from '../../ui/show.tsx';
import { useLoaded } from '../../ui/useLoaded.ts';
import { ChangesOf } from '../audit.tsx';
import { Meta } from '../meta.tsx';
import { namesOf, planFields, useRolesAndPermissions } from './planFields.tsx';

export function PlanPage({ id: planId }: { readonly id: string }) {
  const plan = useLoaded(() => keystile.plans.get({ planId }), [planId], 10_000);
  const named = useRolesAndPermissions();
  return (
    <Showing loaded={plan}>
      {(value) => (
        <>
          <div class="row">
            <h1>
              <bdi>{value.name}</bdi>
            </h1>
            <PlanActions of={value} reload={plan.reload} />
          </div>
          <Facts
            rows={[
              ['Id', <Copyable label="the id" text={value.id} />],
              ['Customers and keys on it', <Count of={value.holders} />],
              ['Credits', value.remaining !== undefined && <Count of={value.remaining} />],
              ['Pay as you go', value.metered === true && 'yes: spent credits are counted, without a balance'],
              ['Alerts', alertWords(value.alerts)],
              ['Refill', refillWords(value.refill)],
              ['Limits', value.ratelimits.length > 0 && <bdi>{limitWords(value.ratelimits)}</bdi>],
              ['Maximum keys', value.maxKeys !== undefined && <Count of={value.maxKeys} />],
              ['Roles', <bdi>{namesOf(value.roles, named.value?.roles ?? []).join(', ')}</bdi>],
              ['Permissions', <bdi>{namesOf(value.permissions, named.value?.permissions ?? []).join(', ')}</bdi>],
            ]}
          />
          <p>
            <a href={hrefOf(`/keys?${new URLSearchParams({ plan: planId })}`)}>Show the keys on this plan</a>
          </p>
          <Meta of={value.meta} />
          <ChangesOf target={planId} />
        </>
      )}
    </Showing>
  );
}

function PlanActions({ of: plan, reload }: { readonly of: Plan; readonly reload: () => void }) {
  return (
    <div class="actions">
      {may('plan.update_plan', plan.id) && (
        <DialogButton label="Edit" title="Edit the plan">
          {(close) => <EditPlan of={plan} reload={reload} close={close} />}
        </DialogButton>
      )}
      {may('plan.delete_plan', plan.id) && (
        <DeleteButton
          label="Delete the plan"
          name={plan.name}
          explains="A plan can be deleted only when no customer and no key is on it. Move them to another plan first."
          onDelete={async () => {
            await keystile.plans.delete({ planId: plan.id });
            goTo('/plans');
          }}
        />
      )}
    </div>
  );
}

function EditPlan({
  of: plan,
  reload,
  close,
}: {
  readonly of: Plan;
  readonly reload: () => void;
  readonly close: () => void;
}) {
  const { id: planId, holders } = plan;
  const named = useRolesAndPermissions();
  return (
    <Showing loaded={named}>
      {(known) => (
        <>
          {holders > 0 && (
            <p>
              The change applies at once to{' '}
              {holders === 1 ? (
                'the customer or key'
              ) : (
                <>
                  all <Count of={holders} /> customers and keys
                </>
              )}{' '}
              on it.
            </p>
          )}
          <EditForm
            record={plan}
            read={() => keystile.plans.get({ planId })}
            fields={planFields(plan, known)}
            onSend={async (patch) => {
              await keystile.plans.update({ planId, ...patch });
              close();
              reload();
            }}
          />
        </>
      )}
    </Showing>
  );
}
