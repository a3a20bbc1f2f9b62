import { accessSync, constants, existsSync } from 'node:fs';
import { hostname } from 'node:os';

import { isNotSent, send } from '../http.ts';
import { type Trust, tryLocalTrust } from '../trust.ts';
import type { Config } from '../../config/variables.ts';
import { isLoopback } from '../../core/address.ts';
import { localUrl } from '../../basics/localUrl.ts';
import { type Outcome, quoted } from '../../doctor/check.ts';
import { type Facts, NotKnown } from '../../doctor/facts.ts';
import type { CheckStatus, Problem } from '../../engine/admin/status.ts';
import { type Owner, peekOwner } from '../../storage/sqlite/file/dataFolder.ts';

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

const NO_SERVER = new NotKnown('no server is running');
const NOT_TOLD = new NotKnown('the running service does not know this check');
const ONLY_THERE = new NotKnown('this is checked only on the machine of the service');

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
      ? new NotKnown('the server is starting or stopping')
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
  const reason = who === 'another' ? `Another program answers at ${url}, not Keystile.` : `Nothing answers at ${url}.`;
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
  if (owner.url === null) return unreached(owner, new NotKnown(`process ${owner.pid} is starting or stopping`));
  const reason = `Process ${owner.pid} owns the data folder ${data}, and does not answer on its control socket.`;
  return {
    ...unreached(owner, new NotKnown('the server does not answer')),
    readiness: { reasons: [reason], command: `kill ${owner.pid} && keystile serve` },
  };
}

function ownerOf(folder: string): Owner | NotKnown | null {
  const hidden = new NotKnown(`this user cannot read ${folder}, so it cannot find out whether a server is running`);
  if (existsSync(folder) && !isAccessible(folder, constants.R_OK | constants.X_OK)) return hidden;
  try {
    return peekOwner(folder);
  } catch {
    // The check of the data folder says what is wrong with it.
    return hidden;
  }
}

/** What a service finds about itself, or why it does not tell. */
type Told = readonly Outcome[] | NotKnown;

/** The service tells nothing, and that is something to be told. */
class RefusedRootKey extends NotKnown {
  readonly outcome: Outcome;

  constructor(outcome: Outcome) {
    super('the service tells this only to a valid root key');
    this.outcome = outcome;
  }
}

/** Through the control socket, which needs no root key. Null: nobody answers there. */
async function askControl(control: string): Promise<Told | null> {
  try {
    const body = JSON.stringify({ command: 'status' });
    const signal = AbortSignal.timeout(ASK_WITHIN_MS);
    const response = await fetch('http://localhost/', { unix: control, method: 'POST', body, signal });
    const { status } = (await response.json()) as { readonly status?: unknown };
    return toOutcomes(status);
  } catch {
    return null;
  }
}

/** Over HTTP, with the root key when one is configured. Nobody is asked for one. */
async function askOverHttp(config: Config, url: string, trust: Trust | null): Promise<Told> {
  const { rootKey } = config;
  if (rootKey === null)
    return new NotKnown(
      'only the running service knows this, and it tells it only to a root key: set KEYSTILE_ROOT_KEY',
    );
  const headers = { authorization: `Bearer ${rootKey}`, 'content-type': 'application/json' };
  const answer = await askJson(
    new Request(`${url}/v1/service.getStatus`, { method: 'POST', headers, body: JSON.stringify({}) }),
    trust,
  );
  if (typeof answer === 'string') return new NotKnown(`this command cannot read the answer at ${url}`);
  if (answer.status === 401) return new RefusedRootKey(refusedRootKey(url, config));
  if (answer.status === 403)
    return new NotKnown(
      'the running service does not tell its status to this root key, which lacks the right service.*.read_status',
    );
  return answer.isOk ? toOutcomes(answer.body) : new NotKnown(`the running service answers ${answer.status}`);
}

/** With a KEYSTILE_URL, the root key is for that service, and without its answer nothing is examined. Else it may be one of the past. */
function refusedRootKey(address: string, { url }: Config): Outcome {
  return {
    name: 'root-key-here',
    meaning: 'The root key of this command is valid.',
    result: url === null ? 'advice' : 'problem',
    text: `The root key is not valid at ${address}, so the service does not tell what it found.`,
    fix: 'Set KEYSTILE_ROOT_KEY to a root key of that service with the right service.*.read_status.',
    command: 'unset KEYSTILE_ROOT_KEY && keystile doctor',
  };
}

async function askReadiness(url: string, trust: Trust | null): Promise<Facts['readiness'] | NotKnown> {
  const address = `${url}/v1/readiness?for=exact`;
  const command = `curl -s ${quoted(address)}`;
  const answer = await askJson(new Request(address), trust);
  if (answer === 'silent') return { reasons: [`It does not answer at ${url}.`], command };
  // Such as a certificate that this machine does not trust.
  if (typeof answer === 'string') return new NotKnown(`this command cannot read the answer at ${url}`);
  return Array.isArray(answer.body['reasons'])
    ? { reasons: answer.body['reasons'].map(String), command }
    : new NotKnown('the running service has another version');
}

type ToldCheck = Pick<CheckStatus, 'name' | 'isOk'> & { readonly meaning?: string; readonly text?: string };

/** A service of another version may know other checks, or no commands. */
function toOutcomes(status: unknown): Told {
  const { checks, problems } = (status ?? {}) as { checks?: readonly ToldCheck[]; problems?: readonly Problem[] };
  if (!Array.isArray(checks) || !Array.isArray(problems))
    return new NotKnown('the running service has another version, which does not tell this');
  return (checks as readonly ToldCheck[]).map(({ name, isOk, meaning, text }): Outcome => {
    const check = { name, meaning: meaning ?? text ?? '' };
    const found = (problems as readonly Problem[]).find((each) => each.name === name);
    if (isOk || found === undefined) return { ...check, result: 'ok' };
    return { ...check, result: found.severity, text: found.text, fix: found.fix, command: found.command ?? '' };
  });
}

/** A service that is well answers in less. */
const ASK_WITHIN_MS = 2_000;

/** Who is at an address: Keystile, another program, one that accepts connections and says nothing, or nobody. */
export type AtAddress = 'keystile' | 'another' | 'silent' | 'nobody';

/** Asks without a secret, so that no other program receives one. */
export async function whoIsAt(url: string, trust: Trust | null): Promise<AtAddress> {
  const answer = await askJson(new Request(`${url}/v1/liveness`), trust);
  if (typeof answer === 'string') return answer;
  return answer.body['status'] === 'ok' ? 'keystile' : 'another';
}

/** Whether the metrics of Keystile are served there. */
export async function whoseMetricsAreAt(url: string): Promise<AtAddress> {
  try {
    const response = await send(new Request(`${url}/metrics`), null, ASK_WITHIN_MS);
    return /keystile_|KEYSTILE_METRICS_TOKEN/.test(await response.text()) ? 'keystile' : 'another';
  } catch (error) {
    return whyNoAnswer(error);
  }
}

interface JsonAnswer {
  readonly status: number;
  readonly isOk: boolean;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The answer, or why there is none. */
async function askJson(request: Request, trust: Trust | null): Promise<JsonAnswer | Exclude<AtAddress, 'keystile'>> {
  try {
    const response = await send(request, trust, ASK_WITHIN_MS);
    const body: unknown = await response.json();
    if (typeof body !== 'object' || body === null) return 'another';
    return { status: response.status, isOk: response.ok, body: body as JsonAnswer['body'] };
  } catch (error) {
    return whyNoAnswer(error);
  }
}

function whyNoAnswer(error: unknown): Exclude<AtAddress, 'keystile'> {
  if (isNotSent(error)) return 'nobody';
  return (error as { name?: string }).name === 'TimeoutError' ? 'silent' : 'another';
}

/** Whether this user has this access, by the bits of `constants`. */
export function isAccessible(path: string, access: number): boolean {
  try {
    accessSync(path, access);
    return true;
  } catch {
    return false;
  }
}
