import { useState } from 'preact/hooks';

import type { SharedRatelimit } from '../../../sdk/src/generated/api.ts';

/** The two modes of a limit, in a word each. */
export const MODES = [
  ['local', 'local: instant'],
  ['strict', 'strict: never exceeded'],
] as const;

/** Rows of limits. The form gets them as JSON under one name; '' for none. */
export function LimitsInput({
  label,
  name,
  text,
  firstName = 'requests',
}: {
  readonly label: string;
  readonly name: string;
  readonly text: string;
  /** The name that the first limit gets. */
  readonly firstName?: string;
}) {
  const [rows, setRows] = useState<readonly SharedRatelimit[]>(() =>
    text === '' ? [] : (JSON.parse(text) as SharedRatelimit[]),
  );
  const change = (at: number, part: Partial<SharedRatelimit>): void =>
    setRows(rows.map((row, i) => (i === at ? { ...row, ...part } : row)));
  return (
    <fieldset>
      <legend>{label}</legend>
      <input type="hidden" name={name} value={rows.length === 0 ? '' : JSON.stringify(rows)} />
      {rows.length === 0 && <p class="hint">No limits.</p>}
      {rows.map((row, i) => (
        <div key={i} class="limit-row" role="group" aria-label={`Limit ${i + 1}`}>
          <label>
            Name
            <input
              required
              value={row.name}
              maxLength={128}
              onInput={(event) => change(i, { name: event.currentTarget.value })}
            />
          </label>
          <label>
            Requests
            <input
              type="number"
              required
              min={1}
              value={row.limit}
              onInput={(event) => change(i, { limit: Number(event.currentTarget.value) })}
            />
          </label>
          <label>
            in seconds
            <input
              type="number"
              required
              min={1}
              step="any"
              value={row.duration / 1000}
              onInput={(event) => change(i, { duration: Math.round(Number(event.currentTarget.value) * 1000) })}
            />
          </label>
          <label>
            Mode
            <select
              value={row.async === false ? 'strict' : 'local'}
              onChange={(event) => change(i, { async: event.currentTarget.value === 'local' })}
            >
              {MODES.map(([value, words]) => (
                <option key={value} value={value}>
                  {words}
                </option>
              ))}
            </select>
          </label>
          <button
            type="button"
            class="small"
            aria-label={`Remove the limit ${row.name}`}
            onClick={() => setRows(rows.filter((_, each) => each !== i))}
          >
            Remove
          </button>
        </div>
      ))}
      <button
        type="button"
        class="small"
        onClick={() =>
          setRows([...rows, { name: nextName(rows, firstName), limit: 100, duration: 60_000, async: true }])
        }
      >
        Add a limit
      </button>
    </fieldset>
  );
}

function nextName(rows: readonly SharedRatelimit[], firstName: string): string {
  const names = [firstName, 'requests', ...rows.map((_, i) => `requests ${i + 2}`)];
  return names.find((name) => rows.every((row) => row.name !== name)) ?? '';
}
