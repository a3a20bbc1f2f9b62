import { nowMs } from '../clock.ts';
import type { IdentityDetails, KeyDetails, RefillState, StatementRow } from '../../sdk/src/generated/api.ts';
import { keystile, may } from '../client.ts';
import { StackedChart } from '../ui/chart.tsx';
import { Ago, Count, Empty, Facts, Showing, Time } from '../ui/show.tsx';
import { Table } from '../ui/table.tsx';
import { useLoaded } from '../ui/useLoaded.ts';
import { STATEMENT_DAY, STATEMENT_NUMBERS } from './statementColumns.tsx';

const DAY_MS = 86_400_000;
const SHOWN_DAYS = 30;
/** The days whose spending is the current rate. */
const RATE_DAYS = 7;

/** Whose credits they are: those of a key or of a customer. */
export interface CreditHolder {
  readonly whose: 'key' | 'customer';
  readonly reference: { readonly keyId: string } | { readonly externalId: string };
  readonly remaining: number | undefined;
  readonly held: number | undefined;
  readonly refill: RefillState | undefined;
  readonly mayReadUsage: boolean;
}

export function creditsOfKey(key: KeyDetails): CreditHolder {
  return {
    whose: 'key',
    reference: { keyId: key.id },
    remaining: key.remaining,
    held: key.held,
    refill: key.refill ?? key.plan?.refill,
    mayReadUsage: may('api.read_usage', key.apiId),
  };
}

export function creditsOfCustomer(customer: IdentityDetails): CreditHolder {
  return {
    whose: 'customer',
    reference: { externalId: customer.externalId },
    remaining: customer.remaining,
    held: customer.held,
    refill: customer.refill ?? customer.plan?.refill,
    mayReadUsage: may('identity.read_usage', customer.id),
  };
}

/** The balance now and over time, when it ends, and its statement. */
export function Balance({ of: holder }: { readonly of: CreditHolder }) {
  const { whose, remaining, held, refill, mayReadUsage, reference } = holder;
  const days = useLoaded(
    async () => {
      if (!mayReadUsage) return [];
      const start = nowMs() - SHOWN_DAYS * DAY_MS;
      return (await keystile.usage.getStatement({ ...reference, per: 'day', start })).rows;
    },
    [JSON.stringify(reference), remaining],
    60_000,
  );
  return (
    <section aria-labelledby={`balance-${whose}`}>
      <h2 id={`balance-${whose}`}>Credits of the {whose}</h2>
      <Facts
        rows={[
          ['Left', remaining !== undefined && <Count of={remaining} />],
          ['Held by reservations', held !== undefined && <Count of={held} />],
          [
            'Next refill',
            refill?.nextRefillAt !== undefined && (
              <>
                <Ago at={refill.nextRefillAt} /> ({refill.mode === 'add' ? 'adds ' : 'to '}
                <Count of={refill.amount} />)
              </>
            ),
          ],
          [
            'Runs out',
            mayReadUsage && remaining !== undefined && days.value !== null && (
              <RunsOut remaining={remaining} days={days.value} nextRefillAtMs={refill?.nextRefillAt} />
            ),
          ],
        ]}
      />
      {!mayReadUsage ? (
        <Empty>Your root key cannot read the history of these credits.</Empty>
      ) : (
        <Showing loaded={days}>{(rows) => <BalanceByDay rows={rows} />}</Showing>
      )}
    </section>
  );
}

function BalanceByDay({ rows }: { readonly rows: readonly StatementRow[] }) {
  const days = everyDay(rows);
  const last = days.at(-1);
  if (last === undefined) return <Empty>These credits have not changed yet.</Empty>;
  return (
    <>
      <StackedChart
        label="Balance at the end of each day"
        summary={`${days[0]?.balance} on the first day, ${last.balance} on the last`}
        times={days.map(({ time }) => time)}
        series={[{ label: 'Balance', color: 'blue', values: days.map(({ balance }) => balance) }]}
      />
      <details>
        <summary>Statement by day</summary>
        <Table
          caption="Statement by day"
          rows={rows.toReversed()}
          keyOf={({ start }) => String(start)}
          columns={[STATEMENT_DAY, ...STATEMENT_NUMBERS]}
        />
      </details>
    </>
  );
}

/** Days on which nothing happened have no row: they end as the day before. */
function everyDay(rows: readonly StatementRow[]): { time: number; balance: number }[] {
  const first = rows[0];
  if (first === undefined) return [];
  const closings = new Map(rows.map(({ start, closing }) => [start, closing]));
  const today = Math.floor(nowMs() / DAY_MS) * DAY_MS;
  let balance = first.opening;
  return Array.from({ length: SHOWN_DAYS }, (_, i) => {
    const time = today - (SHOWN_DAYS - 1 - i) * DAY_MS;
    balance = closings.get(time) ?? balance;
    return { time, balance };
  });
}

/** When nothing will be left if as much is spent as on each of the last days. */
function RunsOut({
  remaining,
  days,
  nextRefillAtMs,
}: {
  readonly remaining: number;
  readonly days: readonly StatementRow[];
  readonly nextRefillAtMs: number | undefined;
}) {
  if (remaining === 0) return <>none are left</>;
  const presentMs = nowMs();
  const recent = days.filter(({ start }) => start > presentMs - RATE_DAYS * DAY_MS);
  const spent = recent.reduce((sum, row) => sum + row.spent, 0);
  const sinceMs = Math.max(presentMs - RATE_DAYS * DAY_MS, days[0]?.start ?? presentMs);
  const perDay = spent / Math.max(1, (presentMs - sinceMs) / DAY_MS);
  const endsAtMs = presentMs + (remaining / perDay) * DAY_MS;
  const isRefilled = nextRefillAtMs !== undefined && nextRefillAtMs < endsAtMs;
  if (spent === 0 || isRefilled || endsAtMs > MAX_TIME_MS)
    return <>not at the current rate{isRefilled && spent > 0 ? ': a refill comes first' : ''}</>;
  return (
    <>
      around <Time at={endsAtMs} />
    </>
  );
}

/** Later times are no dates. */
const MAX_TIME_MS = 8.64e15;
