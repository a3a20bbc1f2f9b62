import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';

import type { Alerts, Refill, SharedRatelimit } from '../../sdk/src/generated/api.ts';
import { MAX_DATE_MS } from '../../src/core/statement.ts';
import { KeystileError } from '../../sdk/src/errors.ts';
import { messageOf } from '../client.ts';
import { nowMs } from '../clock.ts';
import type { Loaded } from './useLoaded.ts';

const NUMBER = new Intl.NumberFormat();
const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });

/** A number in the reader's locale. */
export function count(of: number): string {
  return NUMBER.format(of);
}

export function Count({ of }: { readonly of: number }) {
  return <span class="number">{NUMBER.format(of)}</span>;
}

const PERCENT = new Intl.NumberFormat(undefined, {
  style: 'percent',
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});
const SHORT = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 });

/** A part of a whole, from 0 to 1. */
export function percent(part: number): string {
  return PERCENT.format(part);
}

/** "0.21 ms", "1.2 s": a measured time, with three digits. */
export function milliseconds(ms: number): string {
  return ms < 1_000 ? `${SHORT.format(ms)} ms` : `${SHORT.format(ms / 1_000)} s`;
}

/** A time in the reader's words, with the exact UTC on hover. */
export function Time({ at }: { readonly at: number }) {
  if (at > MAX_DATE_MS) return <>in the very far future</>;
  return (
    <time dateTime={new Date(at).toISOString()} title={new Date(at).toISOString()}>
      {TIME.format(at)}
    </time>
  );
}

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
];

/** "in 3 hours", "2 days ago", with the exact UTC on hover. */
export function Ago({ at }: { readonly at: number }) {
  if (at > MAX_DATE_MS) return <>in the very far future</>;
  const distance = at - nowMs();
  const [unit, size] = UNITS.find(([, each]) => Math.abs(distance) >= each) ?? (['second', 1_000] as const);
  return (
    <time dateTime={new Date(at).toISOString()} title={new Date(at).toISOString()}>
      {RELATIVE.format(Math.round(distance / size), unit)}
    </time>
  );
}

/** "3 hours": a length of time in its largest unit, rounded. */
export function about(ms: number): string {
  const [unit, size] = UNITS.find(([, each]) => ms >= each) ?? (['second', 1_000] as const);
  const units = Math.round(ms / size);
  return `${NUMBER.format(units)} ${unit}${units === 1 ? '' : 's'}`;
}

export function duration(ms: number): string {
  const [unit, size] = UNITS.find(([, each]) => ms >= each && ms % each === 0) ?? ([null, 1] as const);
  if (unit === null) return `${NUMBER.format(ms)} ms`;
  const units = ms / size;
  return `${NUMBER.format(units)} ${unit}${units === 1 ? '' : 's'}`;
}

/** "requests: 100 in 1 minute (local)". */
export function limitWords(limits: readonly SharedRatelimit[]): string {
  return limits
    .map(({ name, limit, duration: ms, async }) => {
      const mode = async === false ? 'strict' : 'local';
      return `${name}: ${NUMBER.format(limit)} in ${duration(ms)} (${mode})`;
    })
    .join(', ');
}

/** "100 monthly". */
export function refillWords(refill: Refill | undefined): string {
  if (refill === undefined) return '';
  const { amount, interval, mode, timezone } = refill;
  const zone = timezone === undefined || timezone === 'UTC' ? '' : ` (${timezone})`;
  return `${mode === 'add' ? 'adds ' : ''}${NUMBER.format(amount)} ${interval}${zone}`;
}

/** "below 100 credits, 7 days before it expires". */
export function alertWords(alerts: Alerts | undefined): string {
  const { creditsBelow, expiresWithinMs } = alerts ?? {};
  return [
    ...(creditsBelow === undefined ? [] : [`below ${NUMBER.format(creditsBelow)} credits`]),
    ...(expiresWithinMs === undefined ? [] : [`${duration(expiresWithinMs)} before it expires`]),
  ].join(', ');
}

export function Failure({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  const isRight = error instanceof KeystileError && error.code === 'INSUFFICIENT_PERMISSIONS';
  return (
    <div class={isRight ? 'notice' : 'notice wrong'} role="alert">
      <p>{isRight ? `You may not do this. ${messageOf(error)}` : messageOf(error)}</p>
      {retry !== undefined && !isRight && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** What was loaded, or that it is loading, or why it cannot be shown. */
export function Showing<T>({
  loaded,
  children,
}: {
  readonly loaded: Loaded<T>;
  readonly children: (value: T) => ComponentChildren;
}) {
  const { value, error, reload } = loaded;
  return (
    <>
      {error !== null && <Failure error={error} retry={reload} />}
      {value === null ? error === null && <p class="loading">Loading …</p> : children(value)}
    </>
  );
}

/** A text of the documentation: what stands between backticks is code. */
export function Documented({ text }: { readonly text: string }) {
  return <>{text.split('`').map((part, i) => (i % 2 === 0 ? part : <code key={i}>{part}</code>))}</>;
}

export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <div class="empty">{children}</div>;
}

/** A text with a button that copies it. */
export function Copyable({
  text,
  label,
  isBlock = false,
}: {
  readonly text: string;
  readonly label: string;
  /** The text has several lines. */
  readonly isBlock?: boolean;
}) {
  const [isCopied, setCopied] = useState(false);
  const code = useRef<HTMLElement>(null);
  const copy = async (): Promise<void> => {
    // On plain http, only pages of this machine may write to the clipboard. Otherwise the text is selected, to be copied by hand.
    if (!isSecureContext) {
      if (code.current !== null) getSelection()?.selectAllChildren(code.current);
      return;
    }
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  };
  return (
    <span class={isBlock ? 'copyable block' : 'copyable'}>
      <code ref={code}>{text}</code>
      <button
        type="button"
        class="small"
        onClick={() => void copy()}
        aria-label={isCopied ? `✓ Copied ${label}` : `Copy ${label}`}
      >
        {isCopied ? '✓ Copied' : 'Copy'}
      </button>
    </span>
  );
}

export function Badge({ kind, children }: { readonly kind: 'good' | 'bad' | 'plain'; readonly children: string }) {
  return <span class={`badge ${kind}`}>{children}</span>;
}

/** Names and values of one record. */
export function Facts({ rows }: { readonly rows: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {rows
        .filter(([, value]) => value !== null && value !== undefined && value !== '' && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
