import type { StatementRow } from '../../sdk/src/generated/api.ts';
import { Count } from '../ui/show.tsx';
import type { Column } from '../ui/table.tsx';

const NUMBERS = ['opening', 'granted', 'refilled', 'adjusted', 'spent', 'expired', 'closing'] as const;

/** Days of statements are days in UTC. */
export const STATEMENT_DAY: Column<StatementRow> = {
  title: 'Day',
  cell: ({ start }) => new Date(start).toLocaleDateString(undefined, { timeZone: 'UTC' }),
};

export const STATEMENT_NUMBERS: readonly Column<StatementRow>[] = NUMBERS.map((name) => ({
  title: (name[0] ?? '').toUpperCase() + name.slice(1),
  isNumber: true,
  cell: (row) => <Count of={row[name]} />,
}));
