import { keystile, may } from '../client.ts';
import { listPlans } from '../paged.ts';
import { DialogButton, Form, SelectField, textOf } from '../ui/form.tsx';
import { Ago, Badge, Copyable, Count, duration, Facts, Showing } from '../ui/show.tsx';
import { Table } from '../ui/table.tsx';
import { ToggleButton } from '../ui/toggle.tsx';
import { useLoaded } from '../ui/useLoaded.ts';
import { STATEMENT_DAY, STATEMENT_NUMBERS } from './statementColumns.tsx';

export function CustomerPage({ id: externalId }: { readonly id: string }) {
  const customer = useLoaded(() => keystile.identities.get({ externalId }), [externalId], 5_000);
  const plans = useLoaded(async () => (await listPlans({ limit: 100 })).plans, []);
  return (
    <Showing loaded={customer}>
      {(value) => (
        <>
          <div class="row">
            <h1>
              <bdi>{value.name ?? value.externalId}</bdi>
            </h1>
            <div class="actions">
              {may('plan.assign_plan') && plans.value !== null && (
                <DialogButton label="Change the plan" title="Change the plan">
                  {(close) => (
                    <Form
                      button="Assign"
                      onSend={async (data) => {
                        await keystile.plans.assign({ externalId, planId: textOf(data, 'planId') ?? null });
                        close();
                        customer.reload();
                      }}
                    >
                      <SelectField
                        label="Plan"
                        name="planId"
                        options={[
                          ['', 'no plan'],
                          ...offered(plans.value ?? [], value.plan).map(({ id, name }) => [id, name] as const),
                        ]}
                        defaultValue={value.planId ?? ''}
                      />
                    </Form>
                  )}
                </DialogButton>
              )}
              {may('identity.update_identity', value.id) && (
                <ToggleButton
                  isOn={value.enabled}
                  what="customer"
                  explains={{
                    on: 'The keys of the customer work again.',
                    off: 'All keys of the customer are refused at once.',
                  }}
                  onToggle={async (enabled) => {
                    await keystile.identities.update({ externalId, enabled });
                    customer.reload();
                  }}
                />
              )}
            </div>
          </div>
          <Facts
            rows={[
              ['State', <Badge kind={value.enabled ? 'good' : 'plain'}>{value.enabled ? 'Active' : 'Disabled'}</Badge>],
              ['Your id', <Copyable label="your id" text={value.externalId} />],
              ['Id', <Copyable label="the id" text={value.id} />],
              ['Keys', <Count of={value.keys} />],
              ['Credits', value.remaining !== undefined && <Count of={value.remaining} />],
              ['Held', value.held !== undefined && <Count of={value.held} />],
              ['Next refill', value.refill?.nextRefillAt !== undefined && <Ago at={value.refill.nextRefillAt} />],
              ['Plan', value.plan?.name],
            ]}
          />
          {[...value.ratelimits, ...(value.plan?.ratelimits ?? [])].length > 0 && (
            <section aria-labelledby="limits">
              <h2 id="limits">Limits</h2>
              {[...value.ratelimits, ...(value.plan?.ratelimits ?? [])].map((limit) => (
                <p key={limit.name}>
                  <label>
                    <bdi>{limit.name}</bdi>: {limit.used} of {limit.limit} in {duration(limit.duration)}, until{' '}
                    <Ago at={limit.reset} />{' '}
                    <meter min={0} max={limit.limit} high={limit.limit * 0.8} optimum={0} value={limit.used} />
                  </label>
                </p>
              ))}
            </section>
          )}
          <Statement externalId={externalId} />
        </>
      )}
    </Showing>
  );
}

function Statement({ externalId }: { readonly externalId: string }) {
  if (!may('identity.read_usage')) return null;
  const rows = useLoaded(async () => keystile.usage.getStatement({ externalId, per: 'day' }), [externalId]);
  return (
    <section aria-labelledby="statement">
      <h2 id="statement">Statement by day</h2>
      <Showing loaded={rows}>
        {(value) => (
          <Table
            caption="Table of the statement"
            rows={value.rows}
            keyOf={({ start }) => String(start)}
            columns={[STATEMENT_DAY, ...STATEMENT_NUMBERS]}
          />
        )}
      </Showing>
    </section>
  );
}

/** The present plan is always among them: otherwise the form would take it away. */
function offered(plans: readonly PlanName[], present: PlanName | undefined): readonly PlanName[] {
  return present === undefined || plans.some(({ id }) => id === present.id) ? plans : [present, ...plans];
}

interface PlanName {
  readonly id: string;
  readonly name: string;
}
