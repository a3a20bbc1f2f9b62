import { useState } from 'preact/hooks';

import type { Plan } from '../../sdk/src/generated/api.ts';
import { keystile, may } from '../client.ts';
import { listPlans } from '../paged.ts';
import { DeleteButton, DialogButton, Form, MODES, numberOf, SelectField, textOf, TextField } from '../ui/form.tsx';
import { Count, duration } from '../ui/show.tsx';
import { PagedTable } from '../ui/table.tsx';
import { from } from './pageOf.ts';

export function Plans() {
  const [changes, setChanges] = useState(0);
  const reload = (): void => setChanges(changes + 1);
  return (
    <>
      <div class="row">
        <h1>Plans</h1>
        {may('plan.create_plan') && (
          <DialogButton label="Create a plan" title="Create a plan" kind="primary">
            {(close) => (
              <Form
                button="Create"
                onSend={async (data) => {
                  const [amount, limit] = [numberOf(data, 'amount'), numberOf(data, 'limit')];
                  await keystile.plans.create({
                    name: textOf(data, 'name') ?? '',
                    ...(amount === undefined
                      ? {}
                      : { remaining: amount, refill: { interval: textOf(data, 'interval') as 'monthly', amount } }),
                    ...(limit === undefined
                      ? {}
                      : {
                          ratelimits: [
                            {
                              name: 'requests',
                              limit,
                              duration: (numberOf(data, 'seconds') ?? 60) * 1000,
                              async: data.get('mode') !== 'strict',
                            },
                          ],
                        }),
                  });
                  close();
                  reload();
                }}
              >
                <TextField label="Name" name="name" required />
                <TextField
                  label="Credits of each period"
                  name="amount"
                  type="number"
                  min={1}
                  hint="Empty: no credits."
                />
                <SelectField
                  label="Period"
                  name="interval"
                  options={[
                    ['monthly', 'month'],
                    ['daily', 'day'],
                    ['weekly', 'week'],
                  ]}
                />
                <TextField label="Requests" name="limit" type="number" min={1} hint="Empty: no rate limit." />
                <TextField label="in seconds" name="seconds" type="number" min={1} defaultValue="60" />
                <SelectField label="Mode" name="mode" options={MODES} />
              </Form>
            )}
          </DialogButton>
        )}
      </div>
      <PagedTable<Plan>
        caption="Plans"
        on={[changes]}
        keyOf={({ id }) => id}
        empty="There are no plans yet. A plan gives its customers credits, limits and permissions."
        load={async (cursor) => {
          const { plans, ...page } = await listPlans(from(cursor));
          return { rows: plans, ...page };
        }}
        columns={[
          { title: 'Name', cell: ({ name }) => <bdi>{name}</bdi> },
          {
            title: 'Credits',
            isNumber: true,
            cell: ({ remaining }) => remaining !== undefined && <Count of={remaining} />,
          },
          {
            title: 'Refill',
            cell: ({ refill }) => (refill === undefined ? '' : `${refill.amount} ${refill.interval}`),
          },
          {
            title: 'Limits',
            cell: ({ ratelimits }) =>
              ratelimits.map(({ name, limit, duration: ms }) => `${name}: ${limit} in ${duration(ms)}`).join(', '),
          },
          { title: 'Holders', isNumber: true, cell: ({ holders }) => <Count of={holders} /> },
          {
            title: 'Change',
            cell: ({ id, name }) =>
              may('plan.delete_plan', id) && (
                <DeleteButton
                  label="Delete"
                  name={name}
                  explains="A plan that somebody holds cannot be deleted."
                  onDelete={async () => {
                    await keystile.plans.delete({ planId: id });
                    reload();
                  }}
                />
              ),
          },
        ]}
      />
    </>
  );
}
