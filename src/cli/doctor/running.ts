import { hostname } from 'node:os';

import type { Config } from '../../config/variables.ts';
import { localUrl } from '../../core/localUrl.ts';
import { type Outcome, quoted } from '../../doctor/check.ts';
import { type Facts, NotKnown } from '../../doctor/facts.ts';
import type { CheckStatus, Problem } from '../../engine/admin/status/serviceStatus.ts';
import { findOwner, type Owner } from '../../storage/sqlite/file/dataFolder.ts';
import { ASK_WITHIN_MS, askJson, whoIsAt } from './askAddress.ts';

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
}

const NO_SERVER = new NotKnown('no server runs');

/** Finds the service: the owner of the data folder, or the one at the configured address. */
export async function findRunning(config: Config): Promise<Running> {
  const owner = config.databaseUrl === null ? ownerOf(config.data) : null;
  if (owner !== null && owner.host !== hostname()) return unreached(owner, elsewhere(owner));
  const address = config.url ?? owner?.url ?? (config.port === 0 ? null : localUrl(config.host, config.port));
  const isThere = address !== null && (await whoIsAt(address)) === 'keystile';
  if (isThere && isOurs(config, address, owner)) return askService(config, address, owner);
  // Another command has the folder for an instant, and listens nowhere.
  if (owner === null || owner.control === null) return unreached(owner, NO_SERVER);
  const silent = `Process ${owner.pid} owns the data folder ${config.data}, and does not answer at ${owner.url ?? 'any address'}.`;
  return {
    ...unreached(owner, new NotKnown('the server does not answer')),
    readiness: { reasons: [silent], command: `kill ${owner.pid} && keystile serve` },
  };
}

function unreached(owner: Owner | null, because: NotKnown): Running {
  return { url: null, owner, outcomes: [], unasked: because, readiness: because };
}

function elsewhere({ pid, host }: Owner): NotKnown {
  return new NotKnown(`process ${pid} on ${host} owns the data folder: run this command on that machine`);
}

/** On an embedded database, the owner of the folder. Another Keystile may be at the address that is configured here. */
function isOurs(config: Config, address: string, owner: Owner | null): boolean {
  return config.databaseUrl !== null || config.url !== null || owner?.url === address;
}

function ownerOf(folder: string): Owner | null {
  try {
    return findOwner(folder);
  } catch {
    // The check of the data folder says what is wrong with it.
    return null;
  }
}

async function askService(config: Config, url: string, owner: Owner | null): Promise<Running> {
  const outcomes = await askStatus(config, url, owner);
  const isTold = !(outcomes instanceof NotKnown);
  const unasked = isTold ? new NotKnown('the running service does not know this check') : outcomes;
  return { url, owner, outcomes: isTold ? outcomes : [], unasked, readiness: await askReadiness(url) };
}

async function askReadiness(url: string): Promise<Facts['readiness'] | NotKnown> {
  const command = `curl -s ${quoted(`${url}/v1/readiness`)}`;
  const answer = await askJson(new Request(`${url}/v1/readiness`));
  if (typeof answer === 'string') return { reasons: ['It does not answer any more.'], command };
  return Array.isArray(answer.body['reasons'])
    ? { reasons: answer.body['reasons'].map(String), command }
    : new NotKnown('the running service has another version');
}

/** Through the control socket, which needs no root key; otherwise with the root key, when one is configured. */
async function askStatus(config: Config, url: string, owner: Owner | null): Promise<readonly Outcome[] | NotKnown> {
  if (owner?.control != null) return askControl(owner.control);
  if (config.rootKey === null)
    return new NotKnown('only the running service knows it, and tells it for a root key: set KEYSTILE_ROOT_KEY');
  const headers = { authorization: `Bearer ${config.rootKey}`, 'content-type': 'application/json' };
  const answer = await askJson(
    new Request(`${url}/v1/service.getStatus`, { method: 'POST', headers, body: JSON.stringify({}) }),
  );
  if (typeof answer === 'string' || !answer.isOk)
    return new NotKnown('the running service does not tell its status for this root key (service.*.read_status)');
  return toOutcomes(answer.body);
}

async function askControl(control: string): Promise<readonly Outcome[] | NotKnown> {
  try {
    const body = JSON.stringify({ command: 'status' });
    const signal = AbortSignal.timeout(ASK_WITHIN_MS);
    const response = await fetch('http://localhost/', { unix: control, method: 'POST', body, signal });
    const { status } = (await response.json()) as { readonly status?: unknown };
    return toOutcomes(status);
  } catch {
    return new NotKnown('the server does not answer on its control socket');
  }
}

type ToldCheck = Pick<CheckStatus, 'name' | 'isOk'> & { readonly meaning?: string; readonly text?: string };

/** A service of another version may know other checks, or no commands. */
function toOutcomes(status: unknown): readonly Outcome[] | NotKnown {
  const { checks, problems } = (status ?? {}) as { checks?: readonly ToldCheck[]; problems?: readonly Problem[] };
  if (!Array.isArray(checks) || !Array.isArray(problems))
    return new NotKnown('the running service has another version, which does not tell it');
  return (checks as readonly ToldCheck[]).map(({ name, isOk, meaning, text }): Outcome => {
    const check = { name, meaning: meaning ?? text ?? '' };
    const found = (problems as readonly Problem[]).find((each) => each.name === name);
    if (isOk || found === undefined) return { ...check, result: 'ok' };
    return { ...check, result: found.severity, text: found.text, fix: found.fix, command: found.command ?? '' };
  });
}
