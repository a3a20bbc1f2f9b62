import { useState } from 'preact/hooks';

import type { Api, Identity, Plan } from '../../sdk/src/generated/api.ts';
import { keystile, may } from '../client.ts';
import { listApis, listCustomers, listPlans } from '../paged.ts';
import { goTo, hrefOf, query } from '../router.ts';
import { DeleteButton, DialogButton, Field, Form, numberOf, textOf, TextField } from '../ui/form.tsx';
import { Ago, Badge, Copyable, Count, duration, Facts, Showing } from '../ui/show.tsx';
import { PagedTable } from '../ui/table.tsx';
import { useLoaded } from '../ui/useLoaded.ts';

const PAGE_SIZE = 50;

const from = (cursor: string | undefined): { limit: number; cursor?: string } =>
  cursor === undefined ? { limit: PAGE_SIZE } : { limit: PAGE_SIZE, cursor };

export function Apis() {
  const [changes, setChanges] = useState(0);
  const reload = (): void => setChanges(changes + 1);
  return (
    <>
      <div class="row">
        <h1>Apis</h1>
        {may('api.create_api') && (
          <DialogButton label="Create an api" title="Create an api" kind="primary">
            {(close) => (
              <Form
                button="Create"
                onSend={async (data) => {
                  await keystile.apis.create({ name: textOf(data, 'name') ?? '' });
                  close();
                  reload();
                }}
              >
                <TextField
                  label="Name"
                  name="name"
                  required
                  hint="An api is a group of keys for one of your services."
                />
              </Form>
            )}
          </DialogButton>
        )}
      </div>
      <PagedTable<Api>
        caption="Apis"
        on={[changes]}
        keyOf={({ id }) => id}
        empty="There is no api yet."
        load={async (cursor) => {
          const { apis, ...page } = await listApis(from(cursor));
          return { rows: apis, ...page };
        }}
        columns={[
          { title: 'Name', cell: ({ name }) => <bdi>{name}</bdi> },
          { title: 'Id', cell: ({ id }) => <Copyable label="the id" text={id} /> },
          { title: 'Keys', cell: ({ id }) => <a href={hrefOf(`/keys?api=${id}`)}>Show its keys</a> },
          {
            title: 'Change',
            cell: ({ id, name }) =>
              may('api.delete_api') && (
                <DeleteButton
                  label="Delete"
                  name={name}
                  explains="Deletes the api with all its keys."
                  onDelete={async () => {
                    await keystile.apis.delete({ apiId: id });
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

export function Customers() {
  const search = query.value.get('search') ?? '';
  return (
    <>
      <div class="row">
        <h1>Customers</h1>
        {may('identity.create_identity') && (
          <DialogButton label="Create a customer" title="Create a customer" kind="primary">
            {(close) => (
              <Form
                button="Create"
                onSend={async (data) => {
                  const externalId = textOf(data, 'externalId') ?? '';
                  const [name, remaining] = [textOf(data, 'name'), numberOf(data, 'remaining')];
                  await keystile.identities.create({
                    externalId,
                    ...(name === undefined ? {} : { name }),
                    ...(remaining === undefined ? {} : { remaining }),
                  });
                  close();
                  goTo(`/customers/${encodeURIComponent(externalId)}`);
                }}
              >
                <TextField label="Your id" name="externalId" required hint="How your own system names the customer." />
                <TextField label="Name" name="name" />
                <TextField
                  label="Credits"
                  name="remaining"
                  type="number"
                  min={0}
                  hint="All keys of the customer share them."
                />
              </Form>
            )}
          </DialogButton>
        )}
      </div>
      <div class="filters">
        <Field label="Search">
          {(ids) => (
            <input
              {...ids}
              type="search"
              defaultValue={search}
              onChange={(event) =>
                goTo(`/customers?${new URLSearchParams({ search: event.currentTarget.value.trim() })}`, 'replace')
              }
            />
          )}
        </Field>
      </div>
      <PagedTable<Identity>
        caption="Customers"
        on={[search]}
        keyOf={({ id }) => id}
        empty={search === '' ? 'There are no customers yet.' : 'No customer fits.'}
        load={async (cursor) => {
          const { identities, ...page } = await listCustomers({
            ...from(cursor),
            ...(search === '' ? {} : { search }),
          });
          return { rows: identities, ...page };
        }}
        columns={[
          {
            title: 'Customer',
            cell: ({ externalId, name }) => (
              <a href={hrefOf(`/customers/${encodeURIComponent(externalId)}`)}>
                <bdi>{name ?? externalId}</bdi>
              </a>
            ),
          },
          { title: 'Your id', cell: ({ externalId }) => <bdi>{externalId}</bdi> },
          {
            title: 'State',
            cell: ({ enabled }) => <Badge kind={enabled ? 'good' : 'plain'}>{enabled ? 'Active' : 'Disabled'}</Badge>,
          },
          {
            title: 'Credits',
            isNumber: true,
            cell: ({ remaining }) => remaining !== undefined && <Count of={remaining} />,
          },
          { title: 'Plan', cell: ({ planId }) => planId ?? '' },
        ]}
      />
    </>
  );
}

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
              {may('plan.assign_plan') && (
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
                      <Field label="Plan">
                        {(ids) => (
                          <select {...ids} name="planId" defaultValue={value.planId ?? ''}>
                            <option value="">no plan</option>
                            {(plans.value ?? []).map(({ id, name }) => (
                              <option key={id} value={id}>
                                {name}
                              </option>
                            ))}
                          </select>
                        )}
                      </Field>
                    </Form>
                  )}
                </DialogButton>
              )}
              {may('identity.update_identity') && (
                <DialogButton
                  label={value.enabled ? 'Disable' : 'Enable'}
                  title={value.enabled ? 'Disable the customer?' : 'Enable the customer?'}
                >
                  {(close) => (
                    <Form
                      button={value.enabled ? 'Disable the customer' : 'Enable the customer'}
                      onSend={async () => {
                        await keystile.identities.update({ externalId, enabled: !value.enabled });
                        close();
                        customer.reload();
                      }}
                    >
                      <p>
                        {value.enabled
                          ? 'All keys of the customer are refused at once.'
                          : 'The keys of the customer work again.'}
                      </p>
                    </Form>
                  )}
                </DialogButton>
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
                    <Ago at={limit.reset} /> <meter min={0} max={limit.limit} value={limit.used} />
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
          <div class="scrolls" role="region" aria-label="Statement" tabIndex={0}>
            <table>
              <thead>
                <tr>
                  {['Day', 'Opening', 'Granted', 'Refilled', 'Adjusted', 'Spent', 'Expired', 'Closing'].map((title) => (
                    <th key={title} scope="col">
                      {title}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {statementRows(value).map((row) => (
                  <tr key={row.start}>
                    <td>{new Date(row.start).toLocaleDateString(undefined, { timeZone: 'UTC' })}</td>
                    {(
                      [
                        row.opening,
                        row.granted,
                        row.refilled,
                        row.adjusted,
                        row.spent,
                        row.expired,
                        row.closing,
                      ] as const
                    ).map((number, i) => (
                      <td key={i} class="number">
                        <Count of={number} />
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Showing>
    </section>
  );
}

type StatementAnswer = Awaited<ReturnType<typeof keystile.usage.getStatement>>;

function statementRows(answer: StatementAnswer) {
  return answer.rows;
}

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
                <Field label="Period">
                  {(ids) => (
                    <select {...ids} name="interval">
                      <option value="monthly">month</option>
                      <option value="daily">day</option>
                      <option value="weekly">week</option>
                    </select>
                  )}
                </Field>
                <TextField label="Requests" name="limit" type="number" min={1} hint="Empty: no rate limit." />
                <TextField label="in seconds" name="seconds" type="number" min={1} defaultValue="60" />
                <Field label="Mode">
                  {(ids) => (
                    <select {...ids} name="mode">
                      <option value="local">local: instant</option>
                      <option value="strict">strict: never exceeded</option>
                    </select>
                  )}
                </Field>
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
              may('plan.delete_plan') && (
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
