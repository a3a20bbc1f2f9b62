import type { Config } from '../../config/variables.ts';
import { type Outcome, quoted } from '../../doctor/check.ts';
import { type Facts, NotKnown } from '../../doctor/facts.ts';
import type { CheckStatus, Problem } from '../../engine/admin/status/serviceStatus.ts';
import type { Trust } from '../trust.ts';
import { ASK_WITHIN_MS, askJson } from './askAddress.ts';

/** What a service finds about itself, or why it does not tell. */
type Told = readonly Outcome[] | NotKnown;

/** The service tells nothing, and that is something to be told. */
export class RefusedRootKey extends NotKnown {
  readonly outcome: Outcome;

  constructor(outcome: Outcome) {
    super('the service tells it only for a valid root key');
    this.outcome = outcome;
  }
}

/** Through the control socket, which needs no root key. Null: nobody answers there. */
export async function askControl(control: string): Promise<Told | null> {
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
export async function askOverHttp(config: Config, url: string, trust: Trust | null): Promise<Told> {
  const { rootKey } = config;
  if (rootKey === null)
    return new NotKnown('only the running service knows it, and tells it for a root key: set KEYSTILE_ROOT_KEY');
  const headers = { authorization: `Bearer ${rootKey}`, 'content-type': 'application/json' };
  const answer = await askJson(
    new Request(`${url}/v1/service.getStatus`, { method: 'POST', headers, body: JSON.stringify({}) }),
    trust,
  );
  if (typeof answer === 'string') return new NotKnown(`this command cannot read what is answered at ${url}`);
  if (answer.status === 401) return new RefusedRootKey(refusedRootKey(url, config));
  if (answer.status === 403)
    return new NotKnown('the running service does not tell its status for this root key (service.*.read_status)');
  return answer.isOk ? toOutcomes(answer.body) : new NotKnown(`the running service answers ${answer.status}`);
}

/** With a KEYSTILE_URL, the root key is for that service, and without its answer nothing is examined. Else it may be one of the past. */
function refusedRootKey(address: string, { url }: Config): Outcome {
  return {
    name: 'root-key-here',
    meaning: 'The root key of this command is valid.',
    result: url === null ? 'advice' : 'problem',
    text: `The root key is not valid at ${address}, so the service does not tell what it finds.`,
    fix: 'Set KEYSTILE_ROOT_KEY to a root key of that service with the right service.*.read_status.',
    command: 'unset KEYSTILE_ROOT_KEY && keystile doctor',
  };
}

export async function askReadiness(url: string, trust: Trust | null): Promise<Facts['readiness'] | NotKnown> {
  const address = `${url}/v1/readiness?for=exact`;
  const command = `curl -s ${quoted(address)}`;
  const answer = await askJson(new Request(address), trust);
  if (answer === 'silent') return { reasons: [`It does not answer at ${url}.`], command };
  // Such as a certificate that this machine does not trust.
  if (typeof answer === 'string') return new NotKnown(`this command cannot read what is answered at ${url}`);
  return Array.isArray(answer.body['reasons'])
    ? { reasons: answer.body['reasons'].map(String), command }
    : new NotKnown('the running service has another version');
}

type ToldCheck = Pick<CheckStatus, 'name' | 'isOk'> & { readonly meaning?: string; readonly text?: string };

/** A service of another version may know other checks, or no commands. */
function toOutcomes(status: unknown): Told {
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
