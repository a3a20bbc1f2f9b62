import { lazy, Suspense } from 'preact/compat';
import type { ComponentType } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

import { isExpired, isSignedIn, may, newVersion, session, signOut } from './client.ts';
import { Overview } from './pages/overview.tsx';
import { SignIn, SignInForm } from './pages/signIn.tsx';
import { hrefOf, path } from './router.ts';

interface Page {
  /** ":" stands for one part of the address, which the page is given as `id`. */
  readonly path: string;
  readonly title: string;
  readonly component: ComponentType<{ id: string }>;
  /** In the menu; the right that it needs. */
  readonly menu?: string;
}

const page = <T extends string>(
  load: () => Promise<Record<T, ComponentType<{ id: string }>>>,
  name: T,
): ComponentType<{ id: string }> => lazy(async () => ({ default: (await load())[name] }));

/** Pages but the first are loaded when they are opened. */
const PAGES: readonly Page[] = [
  { path: '/', title: 'Overview', component: Overview, menu: '' },
  { path: '/keys', title: 'Keys', component: page(() => import('./pages/keys.tsx'), 'Keys'), menu: 'api.read_key' },
  { path: '/keys/new', title: 'Create a key', component: page(() => import('./pages/createKey.tsx'), 'CreateKey') },
  { path: '/keys/:', title: 'Key', component: page(() => import('./pages/key.tsx'), 'KeyPage') },
  {
    path: '/customers',
    title: 'Customers',
    component: page(() => import('./pages/customers.tsx'), 'Customers'),
    menu: 'identity.read_identity',
  },
  { path: '/customers/:', title: 'Customer', component: page(() => import('./pages/customer.tsx'), 'CustomerPage') },
  {
    path: '/plans',
    title: 'Plans',
    component: page(() => import('./pages/plans.tsx'), 'Plans'),
    menu: 'plan.read_plan',
  },
  { path: '/apis', title: 'Apis', component: page(() => import('./pages/apis.tsx'), 'Apis'), menu: 'api.read_api' },
  { path: '/try', title: 'Try it', component: page(() => import('./pages/tryIt.tsx'), 'TryIt'), menu: '' },
  {
    path: '/webhooks',
    title: 'Webhooks',
    component: page(() => import('./pages/webhooks.tsx'), 'Webhooks'),
    menu: 'webhook.read_webhook',
  },
  {
    path: '/audit',
    title: 'Audit log',
    component: page(() => import('./pages/audit.tsx'), 'Audit'),
    menu: 'root.read_audit',
  },
  {
    path: '/access',
    title: 'Root keys and sessions',
    component: page(() => import('./pages/access.tsx'), 'Access'),
    menu: 'root.read_root_key',
  },
];

export function App() {
  if (session.value === undefined) return <p class="loading">Loading …</p>;
  return isSignedIn.value ? <Shell /> : <SignIn />;
}

function Shell() {
  const found = findPage(path.value);
  useEffect(() => {
    document.title = found === null ? 'Keystile' : `${found.page.title} · Keystile`;
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
          {PAGES.filter(({ menu }) => menu !== undefined && (menu === '' || may(menu))).map((each) => (
            <a key={each.path} href={hrefOf(each.path)} aria-current={isCurrent(each) ? 'page' : undefined}>
              {each.title}
            </a>
          ))}
        </nav>
        <button type="button" class="small" onClick={() => void signOut()}>
          Sign out
        </button>
      </header>
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
          {found === null ? <NotFound /> : <found.page.component key={path.value} id={found.id} />}
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

function NotFound() {
  return (
    <>
      <h1>There is no such page</h1>
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
  return below === undefined || id === '' || more.length > 0 ? null : { page: below, id: decodeURIComponent(id) };
}
