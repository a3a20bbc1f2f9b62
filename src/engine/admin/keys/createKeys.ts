import { notFound } from '../../../core/errors.ts';
import type { ApiRecord } from '../../../model/apis.ts';
import type { Actor } from '../change/actor.ts';
import type { AdminContext } from '../change/adminContext.ts';
import { newAccountsNeeded } from '../change/counters.ts';
import { type Draft, emptyDraft } from '../change/draft.ts';
import { requireOn } from '../change/requireRight.ts';
import { CreateKey, withDefaults } from './createKey.ts';
import type { NewKey } from './keyInput.ts';
import { KeyOwners } from './keyOwners.ts';
import { newSecret } from './newSecret.ts';
import { asOneError, type KeyProblem, orProblem } from './keyProblems.ts';

/** With so many problems, the other keys are not looked at. */
const MAX_PROBLEMS = 10;
/** The name of the list in messages. */
const LIST = 'keys';

export interface CreatedKey {
  readonly keyId: string;
  readonly secret: string;
}

/** Creates many keys in one transaction: all of them, or none. What several keys name is read once. */
export class CreateKeys {
  readonly #context: AdminContext;
  readonly #createKey: CreateKey;

  constructor(context: AdminContext) {
    this.#context = context;
    this.#createKey = new CreateKey(context);
  }

  /** Answers the keys in the order of the inputs. Their secrets are shown this once. */
  async create(actor: Actor, inputs: readonly NewKey[]): Promise<readonly CreatedKey[]> {
    const { changes, quotas } = this.#context;
    await this.#refuseHidden(actor, inputs);
    return quotas.creating('keys', inputs.length, (keepQuota) =>
      changes.apply(async () => {
        const draft = emptyDraft();
        const created = await this.#draft(draft, actor, inputs);
        draft.writes.push(...(await keepQuota()));
        return { change: draft, answer: () => created };
      }),
    );
  }

  async #refuseHidden(actor: Actor, inputs: readonly NewKey[]): Promise<void> {
    const problems: KeyProblem[] = [];
    for (const [index, { apiId }] of inputs.entries()) {
      if (problems.length >= MAX_PROBLEMS) break;
      await orProblem(problems, index, () => requireOn(actor, 'api.create_key', apiId, 'api', apiId));
    }
    if (problems.length > 0) throw asOneError(problems, LIST);
  }

  async #draft(draft: Draft, actor: Actor, inputs: readonly NewKey[]): Promise<CreatedKey[]> {
    const { records, ledger } = this.#context.storage;
    const apis = await this.#findApis(inputs);
    const known = await this.#createKey.readNamed(inputs);
    const owners = await KeyOwners.find(inputs, { records, createKey: this.#createKey, draft, actor });
    const accounts = [...(await ledger.reserveAccounts(accountsNeeded(inputs, apis)))];
    const together = {
      ownerOf: (externalId: string | null | undefined) => owners.ownerOf(externalId),
      takeAccounts: (count: number) => accounts.splice(accounts.length - count),
    };
    const created: CreatedKey[] = [];
    const problems: KeyProblem[] = [];
    await this.#context.turns.each(actor.id, inputs, async (input, index) => {
      await orProblem(problems, index, async () => {
        const api = apis.get(input.apiId);
        if (api === undefined) throw notFound('api', input.apiId);
        const { secret, stored } = newSecret(this.#context.system, api, input);
        const fields = { ...input, secret: stored, known, together };
        const { id: keyId, identityId } = await this.#createKey.draftKey(draft, actor, api, fields);
        owners.note(identityId, index);
        created.push({ keyId, secret });
      });
      return problems.length < MAX_PROBLEMS;
    });
    if (problems.length === 0) problems.push(...(await owners.join(records, draft)));
    if (problems.length > 0) throw asOneError(problems, LIST);
    return created;
  }

  async #findApis(inputs: readonly NewKey[]): Promise<Map<string, ApiRecord>> {
    const named = [...new Set(inputs.map(({ apiId }) => apiId))];
    const found = await this.#context.storage.records.findApis(named);
    return new Map(found.map((api) => [api.id, api]));
  }
}

/** The most accounts that the keys can open, with what their apis give them. */
function accountsNeeded(inputs: readonly NewKey[], apis: ReadonlyMap<string, ApiRecord>): number {
  return inputs.reduce((sum, input) => {
    const api = apis.get(input.apiId);
    return sum + (api === undefined ? 0 : newAccountsNeeded(withDefaults(input, api)));
  }, 0);
}
