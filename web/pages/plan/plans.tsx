import type { Plan, PlansCreatePlanRequest } from '../../../sdk/src/generated/api.ts';
import { keystile, may } from '../../client.ts';
import { listPlans } from '../../paged.ts';
import { goTo, hrefOf } from '../../router.ts';
import { CreateForm } from '../../ui/edit/createForm.tsx';
import { DialogButton } from '../../ui/form.tsx';
import { Count, limitWords, refillWords, Showing } from '../../ui/show.tsx';
import { PagedTable } from '../../ui/table.tsx';
import { from } from '../pageOf.ts';
import { NEW_PLAN, planFields, useRolesAndPermissions } from './planFields.tsx';

export function Plans() {
  return (
    <>
      <div class="row">
        <h1>Plans</h1>
        {may('plan.create_plan') && (
          <DialogButton label="Create a plan" title="Create a plan" kind="primary">
            {(close) => <CreatePlan close={close} />}
          </DialogButton>
        )}
      </div>
      <PagedTable<Plan>
        caption="Plans"
        on={[]}
        keyOf={({ id }) => id}
        empty="There are no plans yet. A plan gives its customers credits, limits and permissions."
        load={async (cursor) => {
          const { plans, ...page } = await listPlans(from(cursor));
          return { rows: plans, ...page };
        }}
        columns={[
          {
            title: 'Name',
            cell: ({ id, name }) => (
              <a href={hrefOf(`/plans/${id}`)}>
                <bdi>{name}</bdi>
              </a>
            ),
          },
          {
            title: 'Credits',
            isNumber: true,
            cell: ({ remaining }) => remaining !== undefined && <Count of={remaining} />,
          },
          { title: 'Refill', cell: ({ refill }) => refillWords(refill) },
          { title: 'Limits', cell: ({ ratelimits }) => <bdi>{limitWords(ratelimits)}</bdi> },
          { title: 'Customers and keys', isNumber: true, cell: ({ holders }) => <Count of={holders} /> },
        ]}
      />
    </>
  );
}

function CreatePlan({ close }: { readonly close: () => void }) {
  const named = useRolesAndPermissions();
  return (
    <Showing loaded={named}>
      {(known) => (
        <CreateForm
          empty={NEW_PLAN}
          fields={planFields(NEW_PLAN, known)}
          onSend={async (given) => {
            const { planId } = await keystile.plans.create(given as PlansCreatePlanRequest);
            close();
            goTo(`/plans/${planId}`);
          }}
        />
      )}
    </Showing>
  );
}
