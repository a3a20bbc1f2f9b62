import type { StatementRow } from '../../sdk/src/generated/api.ts';
import { errorOfBody } from '../../sdk/src/errors.ts';
import { fetchAsPage, may } from '../client.ts';
import { listStatement } from '../paged.ts';
import { goTo, query } from '../router.ts';
import { Form } from '../ui/form.tsx';
import { SearchField } from '../ui/search.tsx';
import { Empty } from '../ui/show.tsx';
import { PagedTable } from '../ui/table.tsx';
import { from } from './pageOf.ts';
import { STATEMENT_DAY, STATEMENT_NUMBERS } from './statementColumns.tsx';

/** What happened to credits: of one customer, or of all. */
export function Usage() {
  const externalId = query.value.get('customer') ?? '';
  const isAll = externalId === '';
  // All customers and keys together: the service asks for both rights without a bound.
  const isRefused = isAll && !(may('identity.read_usage', '*') && may('api.read_usage', '*'));
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
        {!isRefused && <Form button="Export as CSV" onSend={() => download(csv)} />}
      </div>
      <div class="filters">
        <SearchField
          label="Customer"
          value={externalId}
          placeholder="Your id of the customer"
          hint="Leave empty for all customers and keys."
          onSearch={(customer) => goTo(`/usage?${new URLSearchParams({ customer })}`, 'replace')}
        />
      </div>
      {isRefused ? (
        <Empty>
          Enter a customer. To see all of them, your root key needs the rights <code>identity.*.read_usage</code> and{' '}
          <code>api.*.read_usage</code>.
        </Empty>
      ) : (
        <PagedTable<StatementRow>
          caption="Statement by day"
          on={[externalId]}
          keyOf={({ start, keyId = '', identityId = '' }) => `${start} ${keyId} ${identityId}`}
          empty="No credits have changed yet."
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

/** A session counts only for requests of the page, so the page fetches the file and offers it. An error is no file: it is thrown. */
async function download(address: string): Promise<void> {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await fetchFile(address));
  link.download = 'usage.csv';
  link.click();
  URL.revokeObjectURL(link.href);
}

async function fetchFile(address: string): Promise<Blob> {
  const answer = await fetchAsPage(address).catch(lost);
  if (answer.ok) return answer.blob().catch(lost);
  const error = errorOfBody(await answer.json().catch(() => null), answer.status, undefined);
  throw error ?? new Error(`The export failed: the service answered with status ${answer.status}. Try again.`);
}

function lost(cause: unknown): never {
  throw new Error('The export failed: the connection to the service was lost. Try again.', { cause });
}
