import { PROGRAM_FILES } from '../../programFiles.ts';

/** The guides: the pages of docs/, in the order in which they are listed. */
export const GUIDE_GROUPS: Readonly<Record<string, readonly string[]>> = {
  'Use it': [
    'protect-a-route',
    'recipes',
    'keys',
    'credits',
    'reservations',
    'ratelimits',
    'apis',
    'identities',
    'plans',
    'permissions',
    'standalone-limits',
    'imports',
    'usage',
    'analytics',
    'audit',
    'webhooks',
    'payments',
    'root-keys',
    'dashboard',
    'portal',
    'gateways',
    'errors',
    'migrating',
  ],
  'Run it': [
    'cli',
    'configuration',
    'deployment',
    'operations',
    'monitoring',
    'incidents',
    'sizing',
    'backup',
    'upgrade',
    'move',
    'scaling',
    'security',
    'http',
    'bounds',
    'reliability',
    'benchmark',
    'versioning',
  ],
  'Work on it': ['architecture', 'glossary', 'dependencies'],
  Decisions: [
    'adr/0001-restore-is-the-default-refill',
    'adr/0002-log-and-writer-thread',
    'adr/0003-accounts-and-revisions',
    'adr/0004-local-midnight-without-temporal',
    'adr/0005-unknown-fields-and-duplicate-members',
    'adr/0006-numbers-instead-of-objects',
    'adr/0007-postgres-ledger',
    'adr/0008-freshness-and-local-counts',
    'adr/0009-generations-of-keys',
    'adr/0010-search-by-words',
    'adr/0011-the-audit-log-is-its-own-table',
    'adr/0012-counts-go-through-a-log',
    'adr/0013-a-front-of-its-own',
    'adr/0014-fences',
    'adr/0015-clients',
    'adr/0016-changes-share-commits',
    'adr/0017-events-and-webhooks',
    'adr/0018-statements-grants-and-reservations',
    'adr/0019-a-session-is-a-record',
    'adr/0020-a-customer-acts-with-a-root-key-cut-down',
    'adr/0021-a-moved-service-does-not-start',
    'adr/0022-identities-are-rows',
    'adr/0023-what-is-due-comes-first',
    'adr/0024-clients-take-turns',
    'adr/0025-records-are-declared-once',
  ],
};

export const GUIDES: readonly string[] = Object.values(GUIDE_GROUPS).flat();

/** The images that guides show. */
export const IMAGES: readonly string[] = [
  'regions.svg',
  'speed.svg',
  'verification.svg',
  ...['overview', 'key', 'customer', 'portal'].flatMap((page) => [
    `pictures/${page}-light.png`,
    `pictures/${page}-dark.png`,
  ]),
];

/** A page or image of docs/. */
export function guideFile(name: string): Bun.BunFile {
  return Bun.file(new URL(name, PROGRAM_FILES.docs));
}

export function guideSource(guide: string): Promise<string> {
  return guideFile(`${guide}.md`).text();
}

/** The first heading of a guide, as text. */
export function titleOf(source: string): string {
  return (/^# +(.*)$/m.exec(source)?.[1] ?? '').replaceAll('`', '');
}
