import { AppError } from '../../../core/errors.ts';
import { heldMaxKeys } from '../../../core/plan.ts';
import type { IdentityRecord } from '../../../core/records.ts';
import type { Records } from '../../../storage/port/records.ts';
import type { Actor } from '../change/actor.ts';
import type { Draft } from '../change/draft.ts';
import { plansOf } from '../../planOf.ts';
import type { CreateKey } from './createKey.ts';
import { joinOf, tooManyKeys } from './joinIdentity.ts';
import type { KeyProblem } from './keyProblems.ts';

/** The owners that keys of one call name. Each is found or drafted once, and joined once. */
export class KeyOwners {
  /** By `externalId`: the identity, or why the actor may not name it. */
  readonly #owners: ReadonlyMap<string, IdentityRecord | AppError>;
  /** By id of an identity that exists already: the indexes of its new keys. */
  readonly #joining = new Map<string, number[]>();
  readonly #existing: ReadonlyMap<string, IdentityRecord>;

  private constructor(owners: ReadonlyMap<string, IdentityRecord | AppError>, existing: readonly IdentityRecord[]) {
    this.#owners = owners;
    this.#existing = new Map(existing.map((identity) => [identity.id, identity]));
  }

  static async find(
    externalIds: readonly string[],
    { records, createKey, draft, actor }: { records: Records; createKey: CreateKey; draft: Draft; actor: Actor },
  ): Promise<KeyOwners> {
    const named = [...new Set(externalIds)];
    const existing = await records.findIdentities(named);
    const found = new Map(existing.map((identity) => [identity.externalId, identity]));
    const owners = new Map<string, IdentityRecord | AppError>();
    for (const externalId of named) {
      const owner = { externalId, operation: 'api.create_key', present: null } as const;
      try {
        owners.set(externalId, createKey.foundOrDrafted(draft, actor, owner, found.get(externalId) ?? null));
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        owners.set(externalId, error);
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
    if (identityId === null || !this.#existing.has(identityId)) return;
    const indexes = this.#joining.get(identityId);
    if (indexes === undefined) this.#joining.set(identityId, [index]);
    else indexes.push(index);
  }

  /** Drafts the joins, and answers the first key of each identity that would be one too many. */
  async join(records: Records, draft: Draft): Promise<KeyProblem[]> {
    const plans = await plansOf(records, [...this.#existing.values()]);
    const joining = [...this.#joining].map(([id, indexes]) => {
      const identity = this.#existing.get(id) as IdentityRecord;
      return { identity, indexes, maxKeys: heldMaxKeys(identity, plans.get(identity.planId ?? '') ?? null) };
    });
    draft.writes.push(...joining.map(({ identity, maxKeys }) => joinOf(identity, maxKeys)));
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
