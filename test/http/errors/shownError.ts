import type { Answer } from '../../support/service.ts';

/** An error as a snapshot keeps it: what differs from run to run is replaced. */
export function shownError({ status, headers, text }: Answer): object {
  const kept = ['www-authenticate', 'allow', 'retry-after', 'connection'].flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return {
    status,
    ...(kept.length === 0 ? {} : { headers: Object.fromEntries(kept) }),
    ...(JSON.parse(withoutIds(text)) as object),
  };
}

export function withoutIds(text: string): string {
  return text.replaceAll(
    /\b(req|key|api|rk|id|ws|perm|role|ns|ovr)_[1-9A-HJ-NP-Za-km-z]{22}(?:[1-9A-HJ-NP-Za-km-z]{4})?\b/g,
    '$1_***',
  );
}
