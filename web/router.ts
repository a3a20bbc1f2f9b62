import { computed, signal } from '@preact/signals';

const BASE = '/dashboard';

/** The address below /dashboard, such as "/keys/key_1", and its query. */
const address = signal(readAddress());

export const path = computed(() => address.value.path);
export const query = computed(() => new URLSearchParams(address.value.query));

function readAddress(): { readonly path: string; readonly query: string } {
  const { pathname, search } = location;
  const below = pathname.startsWith(BASE) ? pathname.slice(BASE.length) : '';
  return { path: below.replace(/\/+$/, '') || '/', query: search };
}

export function hrefOf(to: string): string {
  return BASE + (to === '/' ? '' : to);
}

/**
 * An id as one part of an address. Browsers take the parts "." and ".." out of an address, however they are written. These ids, and those
 * that begin with the mark, get a mark before them.
 */
export function toPart(id: string): string {
  return (/^(?:\.{1,2}$|~)/.test(id) ? '~' : '') + encodeURIComponent(id);
}

export function fromPart(part: string): string {
  const id = decodeURIComponent(part);
  return id.startsWith('~') ? id.slice(1) : id;
}

/** The page of a customer. */
export function customerPath(externalId: string): string {
  return `/customers/${toPart(externalId)}`;
}

export function goTo(to: string, how: 'push' | 'replace' = 'push'): void {
  history[how === 'push' ? 'pushState' : 'replaceState'](null, '', hrefOf(to));
  address.value = readAddress();
  if (how === 'push') scrollTo(0, 0);
}

addEventListener('popstate', () => {
  address.value = readAddress();
});

/** Links inside of the dashboard change the page without loading it again. */
document.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (link === null || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  if (link.origin !== location.origin || link.target !== '' || link.hasAttribute('download') || link.hash !== '')
    return;
  if (link.pathname !== BASE && !link.pathname.startsWith(`${BASE}/`)) return;
  event.preventDefault();
  goTo(link.pathname.slice(BASE.length) + link.search);
});
