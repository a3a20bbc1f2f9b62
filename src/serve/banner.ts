import type { Config } from '../config/variables.ts';
import type { RestoredNote } from '../storage/sqlite/file/installation.ts';
import type { FirstRootKey } from './rootKeys.ts';
import { VERSION } from '../version.ts';

export interface BannerFacts {
  readonly config: Config;
  readonly url: string;
  /** Where the data is stored, for a person. */
  readonly where: string;
  /** The note that the database came from a backup. Null: it did not. */
  readonly restored: RestoredNote | null;
  /** The root key of a demo, whose sample data and folder are temporary. Null: this is no demo. */
  readonly demoRootKey: string | null;
  readonly metrics: string | null;
  /** The root key that this start created. Its secret is printed here and nowhere else, or it is saved in a file. */
  readonly newRootKey: FirstRootKey | null;
  readonly activeRootKeys: number;
  /** How the user can call the command line. */
  readonly program: string;
  /** The risks of the address, each with what to do. */
  readonly warnings: readonly string[];
  /** Information that needs no action. Null: none. */
  readonly note: string | null;
  /** A null object: the dashboard is off. The token signs in once; a null token: there is none to show. */
  readonly dashboard: { readonly token: string | null } | null;
}

/** The text that a start prints for a person. The lines to paste need only sh, curl and sed. */
export function banner(facts: BannerFacts): string {
  const { config, url, metrics } = facts;
  const verify = config.verifyAuth === 'open' ? 'open' : 'needs a root key';
  const lines = [
    `Keystile ${VERSION}`,
    `  API       ${url.padEnd(28)} docs at /docs`,
    ...(facts.dashboard === null ? [] : dashboardLines(url, facts.dashboard.token)),
    `  Data      ${facts.where}`,
    ...(facts.restored === null ? [] : [restoredLine(facts.restored)]),
    `  Verify    ${verify} · refills at midnight ${config.timezone} · ${metrics === null ? 'no metrics' : `metrics on ${metrics}`}`,
    rootKeyLine(facts),
    ...(facts.newRootKey === null ? [] : pasteLines(url, facts.newRootKey, config.verifyAuth)),
    ...facts.warnings.map((warning) => `Warning: ${warning}`),
    facts.demoRootKey !== null ? 'Ctrl-C stops it and removes its data.' : 'Ctrl-C stops it; nothing is lost.',
    ...(facts.note === null ? [] : [facts.note]),
  ];
  return lines.join('\n');
}

function dashboardLines(url: string, token: string | null): string[] {
  const address = `${url}/dashboard`;
  if (token === null) return [`  Dashboard ${address.padEnd(28)} sign in with a root key`];
  return [`  Dashboard ${address}#signIn=${token}`, '            (the link signs you in once, within 10 minutes)'];
}

function restoredLine({ madeAtMs, restoredAtMs }: RestoredNote): string {
  const shown = (unixMs: number): string => `${new Date(unixMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  return `  Restored  ${shown(restoredAtMs)} from a backup of ${shown(madeAtMs)}; what changed in between is missing`;
}

function rootKeyLine({ newRootKey, demoRootKey, activeRootKeys, program }: BannerFacts): string {
  if (demoRootKey !== null) return `  Root key  ${demoRootKey}`;
  if (newRootKey !== null) {
    return 'shown' in newRootKey
      ? `  Root key  ${newRootKey.shown.padEnd(28)} shown this once`
      : `  Root key  saved in ${newRootKey.path} (only its owner can read it)`;
  }
  const count = activeRootKeys === 1 ? '1 root key' : `${activeRootKeys} root keys`;
  return `  Root key  ${count}; to create another: ${program} root-key create --right '*'`;
}

function pasteLines(url: string, rootKey: FirstRootKey, verifyAuth: string): string[] {
  const root =
    'shown' in rootKey
      ? `-H 'Authorization: Bearer ${rootKey.shown}'`
      : `-H "Authorization: Bearer $(cat ${quoted(rootKey.path)})"`;
  const json = `-H 'Content-Type: application/json'`;
  const verifier = verifyAuth === 'open' ? json : `${root} ${json}`;
  return [
    'Paste into another terminal:',
    `  api=$(curl -s ${url}/v1/apis.createApi ${root} ${json} -d '{"name":"demo"}' | sed 's/.*"apiId":"\\([^"]*\\)".*/\\1/')`,
    `  key=$(curl -s ${url}/v1/keys.createKey ${root} ${json} -d '{"apiId":"'$api'","prefix":"demo","remaining":3}' | sed 's/.*"key":"\\([^"]*\\)".*/\\1/')`,
    `  for i in 1 2 3 4; do curl -s ${url}/v1/keys.verifyKey ${verifier} -d '{"key":"'$key'"}'; echo; done`,
  ];
}

/** Quotes the text so that a shell reads it as one word. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
