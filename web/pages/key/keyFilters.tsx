import type { Api, ApisListKeysRequest, Key } from '../../../sdk/src/generated/api.ts';
import { may } from '../../client.ts';
import { listKeys, listPlans } from '../../paged.ts';
import { goTo, query } from '../../router.ts';
import { SearchField } from '../../ui/search.tsx';
import { Select } from '../../ui/select.tsx';
import type { PageOf } from '../../ui/table.tsx';
import { useLoaded } from '../../ui/useLoaded.ts';
import { from } from '../pageOf.ts';
import { firstOnly, OFFERED } from '../useApis.ts';

/** What the table is asked for, as it stands in the address. '' = everything. */
export interface Asked {
  readonly api: string;
  readonly search: string;
  readonly customer: string;
  readonly plan: string;
  readonly state: string;
}

export function askedKeys(): Asked {
  const part = (name: string): string => query.value.get(name) ?? '';
  return {
    api: part('api'),
    search: part('search'),
    customer: part('customer'),
    plan: part('plan'),
    state: part('state'),
  };
}

export function isFiltered({ search, customer, plan, state }: Asked): boolean {
  return search + customer + plan + state !== '';
}

const STATES = [
  ['', 'all'],
  ['active', 'active'],
  ['disabled', 'disabled'],
  ['expired', 'expired'],
] as const;

export function KeyFilters({ asked, apis }: { readonly asked: Asked; readonly apis: readonly Api[] }) {
  const plans = useLoaded(async () => (may('plan.read_plan') ? (await listPlans({ limit: OFFERED })).plans : []), []);
  const known = plans.value ?? [];
  // A plan that the address names is offered too, whatever the list says.
  const isUnknown = asked.plan !== '' && known.every(({ id }) => id !== asked.plan);
  const show = (changed: Partial<Asked>): void => {
    const next = Object.entries({ ...asked, ...changed }).filter(([, each]) => each !== '');
    goTo(`/keys?${new URLSearchParams(next)}`);
  };
  return (
    <div class="filters">
      <Select
        label="Api"
        value={asked.api}
        options={[
          ...(asked.customer + asked.plan === '' ? [] : [['', 'all'] as const]),
          ...apis.map(({ id, name }) => [id, name] as const),
        ]}
        hint={firstOnly(apis, 'apis')}
        onChoose={(api) => show({ api })}
      />
      <SearchField
        label="Search"
        value={asked.search}
        placeholder="Name, metadata or start of the secret"
        onSearch={(search) => show({ search })}
      />
      <SearchField
        label="Customer"
        value={asked.customer}
        placeholder="Your id of the customer"
        onSearch={(customer) => show({ customer })}
      />
      {(known.length > 0 || isUnknown) && (
        <Select
          label="Plan"
          value={asked.plan}
          options={[
            ['', 'all'],
            ...known.map(({ id, name }) => [id, name] as const),
            ...(isUnknown ? [[asked.plan, asked.plan] as const] : []),
          ]}
          hint={firstOnly(known, 'plans')}
          onChoose={(plan) => show({ plan })}
        />
      )}
      <Select label="State" value={asked.state} options={STATES} onChoose={(state) => show({ state })} />
    </div>
  );
}

/** Pages of a plan can be empty before the last one. So many of them are skipped at once. */
const MAX_SKIPPED = 100;

/** A page with keys on it, or the last one. */
export async function loadKeys(asked: Asked, after: string | undefined): Promise<PageOf<Key>> {
  const request: ApisListKeysRequest = {
    apiId: asked.api,
    search: asked.search || undefined,
    externalId: asked.customer || undefined,
    planId: asked.plan || undefined,
    state: (asked.state || undefined) as ApisListKeysRequest['state'],
  };
  let cursor = after;
  for (let skipped = 0; ; skipped++) {
    const { keys, ...page } = await listKeys({ ...request, ...from(cursor) });
    if (keys.length > 0 || page.cursor === undefined || skipped === MAX_SKIPPED) return { rows: keys, ...page };
    cursor = page.cursor;
  }
}
