import type { StatementRow } from '../../sdk/src/generated/api.ts';
import { fetchAsPage, may } from '../client.ts';
import { listStatement } from '../paged.ts';
import { goTo, query } from '../router.ts';
import { SearchField } from '../ui/form.tsx';
import { Empty } from '../ui/show.tsx';
import { PagedTable } from '../ui/table.tsx';
import { from } from './pageOf.ts';
import { STATEMENT_DAY, STATEMENT_NUMBERS } from './statementColumns.tsx';

/** What happened to credits: of one customer, or of all. */
export function Usage() {
  const externalId = query.value.get('customer') ?? '';
  const isAll = externalId === '';
  const whose = isAll ? { all: true } : { externalId };
  const csv = `/v1/usage.getStatement?${new URLSearchParams({
    ...(isAll ? { all: 'true' } : { externalId }),
    per: 'day',
    format: 'csv',
  })}`;
  return (
    <>
      <div class="row">
        <h1>Usage</h1>
        <CsvButton address={csv} />
      </div>
      <div class="filters">
        <SearchField
          label="Customer"
          value={externalId}
          placeholder="externalId"
          hint="Empty: all customers and keys."
          onSearch={(customer) => goTo(`/usage?${new URLSearchParams({ customer })}`, 'replace')}
        />
      </div>
      {isAll && !(may('identity.read_usage') && may('api.read_usage')) ? (
        <Empty>Name a customer. To see all of them, your root key needs more rights.</Empty>
      ) : (
        <PagedTable<StatementRow>
          caption="Statement by day"
          on={[externalId]}
          keyOf={({ start, keyId = '', identityId = '' }) => `${start} ${keyId} ${identityId}`}
          empty="No credits were used."
          load={async (cursor) => {
            const { rows, ...page } = await listStatement({ ...whose, per: 'day', ...from(cursor) });
            return { rows, ...page };
          }}
          columns={[
            STATEMENT_DAY,
            { title: 'Customer or key', cell: ({ externalId: id, keyId }) => <bdi>{id ?? keyId ?? ''}</bdi> },
            ...STATEMENT_NUMBERS,
          ]}
        />
      )}
    </>
  );
}

/** A session counts only for requests of the page, so the page fetches the file and offers it. */
function CsvButton({ address }: { readonly address: string }) {
  return (
    <button type="button" onClick={() => void download(address)}>
      Export as CSV
    </button>
  );
}

async function download(address: string): Promise<void> {
  const answer = await fetchAsPage(address);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await answer.blob());
  link.download = 'usage.csv';
  link.click();
  URL.revokeObjectURL(link.href);
}
