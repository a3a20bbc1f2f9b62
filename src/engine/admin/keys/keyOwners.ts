import { MAX_ISSUES } from '../../../core/bounds.ts';
import { AppError } from '../../../core/errors.ts';
import { heldMaxKeys } from '../../../core/plan.ts';
import type { IdentityRecord } from '../../../model/identities.ts';
import type { Records } from '../../../storage/port/records.ts';
import type { Actor } from '../change/actor.ts';
import type { Draft } from '../change/draft.ts';
import { plansOf } from '../../planOf.ts';
import type { CreateKey } from './createKey.ts';
import type { KeyPatch } from './keyInput.ts';
import { joinOf, tooManyKeys } from './joinIdentity.ts';
import type { KeyProblem } from './keyProblems.ts';

/** The owners that keys of one call name. Each is found or drafted once, and joined once. */
export class KeyOwners {
  /** By `externalId`: the identity, or why the actor may not name it. */
  readonly #owners: ReadonlyMap<string, IdentityRecord | AppError>;
  /** By id: the indexes of the new keys. */
  readonly #joining = new Map<string, number[]>();
  readonly #byId: ReadonlyMap<string, IdentityRecord>;
  /** Ids of those that exist already. Nobody else knows the others. */
  readonly #existing: ReadonlySet<string>;

  private constructor(owners: ReadonlyMap<string, IdentityRecord | AppError>, existing: readonly IdentityRecord[]) {
    const identities = [...owners.values()].flatMap((owner) => (owner instanceof AppError ? [] : owner));
    this.#owners = owners;
    this.#byId = new Map(identities.map((identity) => [identity.id, identity]));
    this.#existing = new Set(existing.map(({ id }) => id));
  }

  static async find(
    keys: readonly KeyPatch[],
    { records, createKey, draft, actor }: { records: Records; createKey: CreateKey; draft: Draft; actor: Actor },
  ): Promise<KeyOwners> {
    const named = [...new Set(keys.flatMap(({ externalId }) => externalId ?? []))];
    const mustExist = new Set(keys.flatMap((key) => (key.mustExist === true ? (key.externalId ?? []) : [])));
    const existing = await records.findIdentities(named);
    const found = new Map(existing.map((identity) => [identity.externalId, identity]));
    const owners = new Map<string, IdentityRecord | AppError>();
    let refused = 0;
    for (const externalId of named) {
      const owner = {
        externalId,
        operation: 'api.create_key',
        present: null,
        mustExist: mustExist.has(externalId),
        explains: refused < MAX_ISSUES,
      } as const;
      try {
        owners.set(externalId, await createKey.foundOrDrafted(draft, actor, owner, found.get(externalId) ?? null));
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        owners.set(externalId, error);
        refused++;
      }
    }
    return new KeyOwners(owners, existing);
  }

  /** Throws when the actor may not name this owner. */
  ownerOf(externalId: string | null | undefined): IdentityRecord | null {
    const owner = this.#owners.get(externalId ?? '') ?? null;
    if (owner instanceof AppError) throw owner;
    return owner;
  }

  /** The key with this index was drafted for the identity. */
  note(identityId: string | null, index: number): void {
    if (identityId === null) return;
    const indexes = this.#joining.get(identityId);
    if (indexes === undefined) this.#joining.set(identityId, [index]);
    else indexes.push(index);
  }

  /** Drafts the joins, and answers the first key of each identity that would be one too many. */
  async join(records: Records, draft: Draft): Promise<KeyProblem[]> {
    const plans = await plansOf(records, [...this.#byId.values()]);
    const joining = [...this.#joining].map(([id, indexes]) => {
      const identity = this.#byId.get(id) as IdentityRecord;
      return { identity, indexes, maxKeys: heldMaxKeys(identity, plans.get(identity.planId ?? '') ?? null) };
    });
    const known = joining.filter(({ identity }) => this.#existing.has(identity.id));
    draft.writes.push(...known.map(({ identity, maxKeys }) => joinOf(identity, maxKeys)));
    const bounded = joining.flatMap(({ maxKeys, ...each }) => (maxKeys === null ? [] : { ...each, maxKeys }));
    const counts = await records.countKeysOfIdentities(bounded.map(({ identity }) => identity.id));
    return bounded.flatMap(({ identity, indexes, maxKeys }, i) => {
      const count = counts[i] ?? 0;
      const index = indexes[Math.max(0, maxKeys - count)];
      const error = () => tooManyKeys(identity, { maxKeys, count, more: indexes.length });
      return index === undefined ? [] : [{ index, error: error() }];
    });
  }
}
