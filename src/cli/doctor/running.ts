import { constants, existsSync } from 'node:fs';
import { hostname } from 'node:os';

import type { Config } from '../../config/variables.ts';
import { isLoopback } from '../../core/address.ts';
import { localUrl } from '../../core/localUrl.ts';
import { type Outcome, quoted } from '../../doctor/check.ts';
import { type Facts, NotKnown } from '../../doctor/facts.ts';
import { type Owner, peekOwner } from '../../storage/sqlite/file/dataFolder.ts';
import { type Trust, tryLocalTrust } from '../trust.ts';
import { whoIsAt } from './askAddress.ts';
import { askControl, askOverHttp, askReadiness, RefusedRootKey } from './askStatus.ts';
import { isAccessible } from './isAccessible.ts';

/** The service that runs, as far as this command reaches it. */
export interface Running {
  /** Its address; null = none answers. */
  readonly url: string | null;
  /** The process that owns the data folder; null = none, or there is no data folder. */
  readonly owner: Owner | null;
  /** What it finds wrong with itself. Empty when it cannot be asked. */
  readonly outcomes: readonly Outcome[];
  /** Why it cannot be asked. */
  readonly unasked: NotKnown;
  readonly readiness: Facts['readiness'] | NotKnown;
  /** KEYSTILE_URL names it, and it is not the one on the data folder here: nothing on this machine says anything about it. */
  readonly isElsewhere?: true;
}

const NO_SERVER = new NotKnown('no server runs');
const NOT_TOLD = new NotKnown('the running service does not know this check');
const ONLY_THERE = new NotKnown('it is checked on the machine of the service');

/** Finds the service: the one that KEYSTILE_URL names, or else the owner of the data folder, or the one at the configured address. */
export async function findRunning(config: Config): Promise<Running> {
  const { url, databaseUrl } = config;
  const owner = databaseUrl === null ? ownerOf(config.data) : null;
  if (url !== null && !isAt(url, owner, config)) {
    const found = await findNamed(config, url);
    return databaseUrl === null ? { ...found, isElsewhere: true } : found;
  }
  if (owner instanceof NotKnown) return unreached(null, owner);
  // Another command has the folder for an instant, and listens nowhere.
  if (owner === null || owner.control === null) return findAtAddress(config, owner);
  if (owner.host !== hostname()) return unreached(owner, elsewhere(owner));
  const told = await askControl(owner.control);
  if (told === null) return silent(config, owner);
  const readiness =
    owner.url === null
      ? new NotKnown('the server starts or stops')
      : await askReadiness(owner.url, tryLocalTrust(owner.tlsCert, owner.url));
  return { url: owner.url, owner, readiness, ...toldOr(told) };
}

/** Whether the process on the data folder here answers at this address. */
function isAt(url: string, owner: Owner | NotKnown | null, { publicUrl }: Config): boolean {
  if (owner === null || owner instanceof NotKnown || owner.url === null) return false;
  const own = new URL(owner.url);
  const asked = new URL(url);
  const isSameHost = asked.hostname === own.hostname || (asked.hostname === 'localhost' && isLoopback(own.hostname));
  return url === publicUrl || (isSameHost && asked.port === own.port && asked.protocol === own.protocol);
}

/** The service that KEYSTILE_URL names. Nothing that answers there is a problem: every other command fails then. */
async function findNamed(config: Config, url: string): Promise<Running> {
  const who = await whoIsAt(url, null);
  if (who === 'keystile')
    return reached(config, { url, trust: null, untold: config.databaseUrl === null ? ONLY_THERE : NOT_TOLD });
  const reason = who === 'another' ? `Another program than Keystile answers at ${url}.` : `Nothing answers at ${url}.`;
  return {
    ...unreached(null, new NotKnown(`no Keystile answers at ${url}`)),
    readiness: { reasons: [reason], command: `curl -s ${quoted(`${url}/v1/readiness`)}` },
  };
}

/** Without an owner of a folder here, a service at the configured address is another one, unless the settings lead to it. */
async function findAtAddress(config: Config, owner: Owner | null): Promise<Running> {
  if (config.databaseUrl === null || config.port === 0) return unreached(owner, NO_SERVER);
  const url = localUrl(config.host, config.port, config.tlsCert !== null);
  const trust = tryLocalTrust(config.tlsCert, url);
  return (await whoIsAt(url, trust)) === 'keystile'
    ? reached(config, { url, trust, untold: NOT_TOLD })
    : unreached(owner, NO_SERVER);
}

/** `untold`: why a check is missing in what the service tells. */
async function reached(
  config: Config,
  { url, trust, untold }: { url: string; trust: Trust | null; untold: NotKnown },
): Promise<Running> {
  const told = toldOr(await askOverHttp(config, url, trust), untold);
  return { url, owner: null, readiness: await askReadiness(url, trust), ...told };
}

function toldOr(
  told: readonly Outcome[] | NotKnown,
  untold: NotKnown = NOT_TOLD,
): Pick<Running, 'outcomes' | 'unasked'> {
  if (told instanceof RefusedRootKey) return { outcomes: [told.outcome], unasked: told };
  return told instanceof NotKnown ? { outcomes: [], unasked: told } : { outcomes: told, unasked: untold };
}

function unreached(owner: Owner | null, because: NotKnown): Running {
  return { url: null, owner, outcomes: [], unasked: because, readiness: because };
}

function elsewhere({ pid, host }: Owner): NotKnown {
  return new NotKnown(`process ${pid} on ${host} owns the data folder: run this command on that machine`);
}

function silent({ data }: Config, owner: Owner): Running {
  // It listens on its control socket last, and names its address with it.
  if (owner.url === null) return unreached(owner, new NotKnown(`process ${owner.pid} starts or stops`));
  const reason = `Process ${owner.pid} owns the data folder ${data}, and does not answer on its control socket.`;
  return {
    ...unreached(owner, new NotKnown('the server does not answer')),
    readiness: { reasons: [reason], command: `kill ${owner.pid} && keystile serve` },
  };
}

function ownerOf(folder: string): Owner | NotKnown | null {
  const hidden = new NotKnown(`this user cannot read ${folder}, and so not find out whether a server runs`);
  if (existsSync(folder) && !isAccessible(folder, constants.R_OK | constants.X_OK)) return hidden;
  try {
    return peekOwner(folder);
  } catch {
    // The check of the data folder says what is wrong with it.
    return hidden;
  }
}
