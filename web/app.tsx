import { Suspense } from 'preact/compat';
import { useEffect, useErrorBoundary, useRef, useState } from 'preact/hooks';

import {
  isExpired,
  isSignedIn,
  loadSession,
  may,
  messageOf,
  newVersion,
  session,
  signOut,
  startFailure,
} from './client.ts';
import { type Page, PAGES } from './pageList.ts';
import { SignIn, SignInForm } from './pages/signIn.tsx';
import { type Operation, rightTo } from '../src/core/rights.ts';
import { isAway } from './reach.ts';
import { fromPart, hrefOf, path } from './router.ts';
import { Away, WrongClock } from './ui/away.tsx';
import { Failure } from './ui/show.tsx';

export function App() {
  if (session.value === undefined) {
    if (isAway.value) return <Away onReturn={loadSession} />;
    if (startFailure.value === null) return <p class="loading">Loading …</p>;
    return <Failure error={new Error(`${messageOf(startFailure.value)} Retrying …`)} />;
  }
  return isSignedIn.value ? <Shell /> : <SignIn />;
}

function Shell() {
  const found = findPage(path.value);
  const [failure, forget] = useErrorBoundary() as [unknown, () => void];
  const [signOutFailure, setSignOutFailure] = useState<unknown>(null);
  useEffect(() => forget(), [path.value]);
  useEffect(() => {
    // Notices an upgrade of the service.
    const timer = setInterval(() => void loadSession().catch(() => {}), 60_000);
    return () => clearInterval(timer);
  }, []);
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = found === null ? 'Keystile' : `${found.page.title} · Keystile`;
    // Readers of the screen begin with the new page, not with the menu.
    if (!isFirst.current) document.getElementById('content')?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [path.value]);
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header>
        <a class="brand" href={hrefOf('/')}>
          Keystile
        </a>
        <nav aria-label="Main">
          {PAGES.filter(({ isInMenu, needs }) => isInMenu && (needs === '' || may(needs))).map((each) => (
            <a key={each.path} href={hrefOf(each.path)} aria-current={isCurrent(each) ? 'page' : undefined}>
              {each.title}
            </a>
          ))}
        </nav>
        <button type="button" class="small" onClick={() => void signOut().catch(setSignOutFailure)}>
          Sign out
        </button>
      </header>
      {signOutFailure !== null && <Failure error={signOutFailure} />}
      <Away onReturn={loadSession} />
      <WrongClock />
      {newVersion.value !== null && (
        <p class="notice" role="status">
          The service was upgraded to {newVersion.value}.{' '}
          <a href={location.href} target="_self">
            Reload the page
          </a>
          .
        </p>
      )}
      <main id="content" tabIndex={-1}>
        <Suspense fallback={<p class="loading">Loading …</p>}>
          {failure !== undefined ? (
            <Broken error={failure} />
          ) : found === null ? (
            <NotFound />
          ) : found.page.needs !== '' && !may(found.page.needs) ? (
            <NoRight needs={found.page.needs} />
          ) : (
            <found.page.component key={path.value} id={found.id} />
          )}
        </Suspense>
      </main>
      <SignInAgain />
    </>
  );
}

/** Over the page, so that nothing that was typed is lost. */
function SignInAgain() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isExpired.value) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isExpired.value]);
  return (
    <dialog ref={dialog} aria-labelledby="again" onCancel={(event) => event.preventDefault()}>
      <h2 id="again">Your session has ended</h2>
      <p>Sign in again and continue. What you have typed is still here.</p>
      {isExpired.value && <SignInForm />}
    </dialog>
  );
}

/** A page that cannot be shown. After an upgrade of the service, its file is gone. */
function Broken({ error }: { readonly error: unknown }) {
  return (
    <>
      <h1>This page cannot be shown</h1>
      <p>{messageOf(error)}</p>
      <p>
        <a href={location.href} target="_self">
          Reload this page
        </a>
      </p>
    </>
  );
}

function NoRight({ needs }: { readonly needs: Operation }) {
  return (
    <>
      <h1>You do not have access to this page</h1>
      <p>
        It needs the right <code>{rightTo(needs, '*')}</code>, which your root key does not have.
      </p>
    </>
  );
}

function NotFound() {
  return (
    <>
      <h1>Page not found</h1>
      <p>
        <a href={hrefOf('/')}>Go to the overview</a>
      </p>
    </>
  );
}

function isCurrent({ path: own }: Page): boolean {
  return own === '/' ? path.value === '/' : path.value === own || path.value.startsWith(`${own}/`);
}

function findPage(address: string): { readonly page: Page; readonly id: string } | null {
  const exact = PAGES.find((each) => each.path === address);
  if (exact !== undefined) return { page: exact, id: '' };
  const [, kind = '', id = '', ...more] = address.split('/');
  const below = PAGES.find((each) => each.path === `/${kind}/:`);
  if (below === undefined || id === '' || more.length > 0) return null;
  try {
    return { page: below, id: fromPart(id) };
  } catch {
    return null;
  }
}
