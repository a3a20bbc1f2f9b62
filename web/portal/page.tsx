import { useEffect, useState } from 'preact/hooks';

import { ask, isExpired, messageOf } from '../client.ts';
import { Away, WrongClock } from '../ui/away.tsx';
import { duration, Count, Facts, Failure, Time } from '../ui/show.tsx';
import { Keys, NewSecrets } from './keys.tsx';
import { begin, call, endedBecause, type Look, look, refresh, visit, type Visit } from './portalClient.ts';
import { Usage } from './usage.tsx';

/** What one customer sees of its keys. The service decides what that is; this page only shows it. */
export function PortalPage() {
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const start = (): void => {
      setError(null);
      void begin().catch(setError);
    };
    start();
    // Another link in the same tab changes only what is behind #.
    addEventListener('hashchange', start);
    return () => removeEventListener('hashchange', start);
  }, []);
  const shown = look.value;
  useEffect(() => {
    if (shown === null) return;
    document.title = shown.name;
    paint(shown.color);
  }, [shown]);
  if (error !== null) return <Ended text={messageOf(error)} />;
  if (visit.value === undefined) return <p class="loading">Loading …</p>;
  if (visit.value === null) return <Ended text="Open the link that you were given." />;
  const { customer } = visit.value;
  return (
    <>
      {shown !== null && <Top look={shown} visit={visit.value} />}
      <Away onReturn={refresh} />
      <WrongClock />
      <main id="content">
        <h1>
          <bdi>{customer.name ?? customer.externalId}</bdi>
        </h1>
        {isExpired.value ? (
          // What was created stays on the page: its secret is shown nowhere else.
          <p class="notice wrong" role="alert">
            {endedBecause.value} Go back to where you came from and open it again.
          </p>
        ) : (
          <Account visit={visit.value} />
        )}
        <NewSecrets />
        {!isExpired.value && (
          <>
            <Keys visit={visit.value} />
            <Usage />
          </>
        )}
      </main>
    </>
  );
}

function Top({ look: { name, hasLogo }, visit: { returnUrl } }: { readonly look: Look; readonly visit: Visit }) {
  const [error, setError] = useState<unknown>(null);
  const leave = async (): Promise<void> => {
    await ask(() => call('leave'));
    visit.value = null;
  };
  return (
    <header class="portal">
      <span class="brand">
        {hasLogo && <img src="/portal/logo" alt="" height={32} />} {name}
      </span>
      <nav aria-label="Main">{returnUrl !== undefined && <a href={returnUrl}>Back</a>}</nav>
      <button type="button" class="small" onClick={() => void leave().catch(setError)}>
        Leave
      </button>
      {error !== null && <Failure error={error} />}
    </header>
  );
}

function Account({ visit: { customer, plan } }: { readonly visit: Visit }) {
  const { keys, remaining } = customer;
  // What the customer has of its own comes before what its plan gives.
  const maxKeys = customer.maxKeys ?? plan?.maxKeys;
  const refill = customer.refill ?? plan?.refill;
  const ratelimits = [...customer.ratelimits, ...(plan?.ratelimits ?? [])];
  return (
    <Facts
      rows={[
        ['Plan', plan?.name],
        ['Credits left', remaining !== undefined && <Count of={remaining} />],
        [
          'Next refill',
          refill?.nextRefillAt !== undefined && (
            <>
              <Count of={refill.amount} />, <Time at={refill.nextRefillAt} />
            </>
          ),
        ],
        [
          'Keys',
          <>
            <Count of={keys} />
            {maxKeys !== undefined && (
              <>
                {' '}
                of at most <Count of={maxKeys} />, in all apis
              </>
            )}
          </>,
        ],
        ...ratelimits.map(
          ({ name, limit, duration: ms, used }) =>
            [
              `Limit ${name}`,
              <>
                <Count of={limit} /> per {duration(ms)}
                {used > 0 && (
                  <>
                    , <Count of={used} /> used
                  </>
                )}
              </>,
            ] as const,
        ),
      ]}
    />
  );
}

function Ended({ text }: { readonly text: string }) {
  return (
    <main id="content">
      <h1>This page is not open</h1>
      <p role="alert">{text}</p>
    </main>
  );
}

/** The colour of the provider, with text on it that can be read. */
function paint(color: string): void {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16) / 255);
  const linear = (part: number): number => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const luminance = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  const { style } = document.documentElement;
  style.setProperty('--brand', color);
  style.setProperty('--on-brand', luminance > 0.179 ? '#000000' : '#ffffff');
}
