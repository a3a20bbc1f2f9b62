import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

import { Empty, Showing } from './show.tsx';
import { useLoaded } from './useLoaded.ts';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly isNumber?: true;
  /** Short words, which are not broken. */
  readonly isWord?: true;
}

export interface PageOf<Row> {
  readonly rows: readonly Row[];
  readonly cursor?: string | undefined;
  readonly total?: number | undefined;
  /** Its rows are about to change: it is read again in a moment. */
  readonly isChanging?: boolean;
}

/** How long after its answer a page that is changing is read again. */
const AGAIN_MS = 1_000;

/**
 * A table that is read page by page: each page is one request, however many rows there are. `on`: what the pages depend on; a change begins
 * with the first page again.
 */
export function PagedTable<Row>({
  caption,
  columns,
  load,
  on,
  keyOf,
  empty,
}: {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly load: (cursor: string | undefined) => Promise<PageOf<Row>>;
  readonly on: readonly unknown[];
  readonly keyOf: (row: Row) => string;
  readonly empty: ComponentChildren;
}) {
  const question = JSON.stringify(on);
  const [place, setPlace] = useState<{ question: string; cursors: readonly string[] }>({ question, cursors: [] });
  const cursors = place.question === question ? place.cursors : [];
  const loaded = useLoaded(
    () => load(cursors.at(-1)),
    [question, cursors.at(-1)],
    (page) => (page?.isChanging === true ? AGAIN_MS : 0),
  );
  const goTo = (next: readonly string[]): void => setPlace({ question, cursors: next });
  return (
    <Showing loaded={loaded}>
      {({ rows, cursor, total }) =>
        rows.length === 0 && cursors.length === 0 && cursor === undefined ? (
          <Empty>{empty}</Empty>
        ) : (
          <>
            <Table caption={caption} columns={columns} rows={rows} keyOf={keyOf} isBusy={loaded.isLoading} />
            <nav class="pages" aria-label={`Pages of ${caption}`}>
              <button type="button" disabled={cursors.length === 0} onClick={() => goTo(cursors.slice(0, -1))}>
                Previous
              </button>
              <span>
                Page {cursors.length + 1}
                {total !== undefined && ` · ${new Intl.NumberFormat().format(total)} in all`}
              </span>
              <button
                type="button"
                disabled={cursor === undefined}
                onClick={() => cursor !== undefined && goTo([...cursors, cursor])}
              >
                Next
              </button>
            </nav>
          </>
        )
      }
    </Showing>
  );
}

/** Rows that are all there. A narrow window scrolls it. */
export function Table<Row>({
  caption,
  columns,
  rows,
  keyOf,
  isBusy = false,
  isNarrow = false,
}: {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly isBusy?: boolean;
  /** It has few columns, and fits beside others. */
  readonly isNarrow?: boolean;
}) {
  return (
    <div class="scrolls" role="region" aria-label={caption} tabIndex={0}>
      <table aria-busy={isBusy} class={isNarrow ? 'narrow' : undefined}>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }) => (
              <th key={title} scope="col" class={isNumber ? 'number' : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ title, cell, isNumber, isWord }) => (
                <td key={title} class={isNumber ? 'number' : isWord ? 'word' : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
