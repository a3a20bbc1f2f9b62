import { AppError, ERRORS } from '../../../src/core/errors.ts';
import { makeSecret } from '../../../src/core/secret.ts';
import type {
  ApisCreateApiRequest,
  IdentitiesCreateIdentityRequest,
  IdentitiesDeleteIdentityRequest,
  IdentitiesGetIdentityRequest,
  IdentitiesUpdateIdentityRequest,
  KeysCreateKeyRequest,
  KeysCreateKeysRequest,
  KeysDeleteKeyRequest,
  KeysRotateKeyRequest,
  KeysUpdateKeyRequest,
  KeysUpdateRemainingRequest,
  KeysVerifyKeysRequest,
  VerifyRequest,
} from '../generated/api.ts';
import { changeCounters, checkCounters, creditCharges } from './fakeCounters.ts';
import { FakeIdentities } from './fakeIdentities.ts';
import { type FakeKey, type KeyFields, newFakeKey, ownerIn, setFields } from './fakeKey.ts';
import { FakeLedger } from './fakeLedger.ts';
import { verifyFake } from './fakeVerify.ts';

/** A secret of a key. A rotation ends it. */
interface FakeSecret {
  readonly key: FakeKey;
  readonly untilMs: number;
}

/** The endpoints that the fake has. */
export class FakeService {
  readonly #nowMs: () => number;
  readonly #ledger = new FakeLedger();
  readonly #identities = new FakeIdentities(
    this.#ledger,
    () => this.#newId('id'),
    (identityId) => [...this.#keys.values()].filter((key) => key.identityId === identityId),
  );
  readonly #keys = new Map<string, FakeKey>();
  readonly #secrets = new Map<string, FakeSecret>();
  #made = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Answers one request as the service would: status and body. */
  answer(path: string, body: unknown): { readonly status: number; readonly body: object } {
    try {
      return { status: 200, body: this.#call(path, body) };
    } catch (failure) {
      return {
        status: failure instanceof AppError ? ERRORS[failure.code].status : 500,
        body: this.#errorBody(failure),
      };
    }
  }

  #call(path: string, body: unknown): object {
    switch (path) {
      case '/v1/apis.createApi':
        return { apiId: this.#newId('api'), name: (body as ApisCreateApiRequest).name };
      case '/v1/keys.createKey':
        return this.#create(body as KeysCreateKeyRequest);
      case '/v1/keys.createKeys':
        return { keys: this.#createMany(body as KeysCreateKeysRequest) };
      case '/v1/keys.updateKey':
        return this.#update(body as KeysUpdateKeyRequest);
      case '/v1/keys.updateRemaining':
        return this.#updateRemaining(body as KeysUpdateRemainingRequest);
      case '/v1/keys.deleteKey':
        return this.#delete(body as KeysDeleteKeyRequest);
      case '/v1/keys.rotateKey':
        return this.#rotate(body as KeysRotateKeyRequest);
      case '/v1/identities.createIdentity':
        return this.#identities.create(body as IdentitiesCreateIdentityRequest, this.#nowMs());
      case '/v1/identities.getIdentity':
        return this.#identities.get(body as IdentitiesGetIdentityRequest, this.#nowMs());
      case '/v1/identities.updateIdentity':
        return this.#identities.update(body as IdentitiesUpdateIdentityRequest, this.#nowMs());
      case '/v1/identities.deleteIdentity':
        return this.#deleteIdentity(body as IdentitiesDeleteIdentityRequest);
      case '/v1/keys.verifyKey':
        return this.#verify(body as VerifyRequest);
      case '/v1/keys.verifyKeys':
        return { results: (body as KeysVerifyKeysRequest).keys.map((request) => this.#verifyOrError(request)) };
      default:
        throw new AppError('NOT_FOUND', `The fake service has no ${path}. Use a real Keystile to test this call.`);
    }
  }

  /** All of them or none: the keys before one that is refused are deleted again. */
  #createMany({ apiId = '', keys }: KeysCreateKeysRequest): object[] {
    const made: { keyId: string; key: string }[] = [];
    try {
      for (const fields of keys) made.push(this.#create({ ...fields, apiId: fields.apiId ?? apiId }));
      return made;
    } catch (failure) {
      for (const { keyId } of made) this.#delete({ keyId });
      if (!(failure instanceof AppError)) throw failure;
      throw new AppError(failure.code, `keys[${made.length}]: ${failure.message}`);
    }
  }

  #create(fields: KeysCreateKeyRequest): { keyId: string; key: string } {
    const key = newFakeKey(this.#newId('key'), fields);
    this.#check(key, fields);
    changeCounters(this.#ledger, key, fields, this.#nowMs());
    this.#setFields(key, fields);
    this.#keys.set(key.id, key);
    return { keyId: key.id, key: this.#newSecret(key) };
  }

  #update({ keyId, ...fields }: KeysUpdateKeyRequest): object {
    const key = this.#find(keyId);
    this.#check(key, fields);
    changeCounters(this.#ledger, key, fields, this.#nowMs());
    this.#setFields(key, fields);
    return {};
  }

  #updateRemaining({ keyId, op, value }: KeysUpdateRemainingRequest): object {
    const [key, nowMs] = [this.#find(keyId), this.#nowMs()];
    const hasBalance = key.credits !== null && !key.credits.metered;
    if (op === 'set' && (value === null || !hasBalance)) {
      changeCounters(this.#ledger, key, { remaining: value }, nowMs);
      return { remaining: value };
    }
    const [charge] = creditCharges(this.#ledger, key, 0, nowMs);
    if (!hasBalance || charge?.rule.kind !== 'credits')
      throw new AppError('BAD_REQUEST', `The key ${keyId} has no credits to change. Give it some with op "set".`);
    const by = value ?? 0;
    const change = op === 'set' ? { set: by } : { add: op === 'increment' ? by : -by };
    return { remaining: this.#ledger.change(charge.account, { refill: charge.rule.refill, ...change }, nowMs) };
  }

  #delete({ keyId }: KeysDeleteKeyRequest): object {
    const key = this.#find(keyId);
    this.#keys.delete(keyId);
    this.#endSecrets(key, -Infinity);
    return {};
  }

  #deleteIdentity(request: IdentitiesDeleteIdentityRequest): object {
    for (const { id } of this.#identities.delete(request)) this.#delete({ keyId: id });
    return {};
  }

  /** The old secret stays valid for the overlap. Without one, all former secrets end at once. */
  #rotate({ keyId, overlapMs }: KeysRotateKeyRequest): object {
    const key = this.#find(keyId);
    this.#endSecrets(key, overlapMs > 0 ? this.#nowMs() + overlapMs : -Infinity);
    return { keyId, key: this.#newSecret(key) };
  }

  #verify(request: VerifyRequest): object {
    const [requestId, nowMs] = [this.#newId('req'), this.#nowMs()];
    const { key, untilMs = 0 } = this.#secrets.get(request.key) ?? {};
    if (key === undefined || nowMs >= untilMs) return { valid: false, code: 'NOT_FOUND', requestId, meta: {} };
    const identity = this.#identities.byId(key.identityId);
    return { requestId, ...verifyFake({ ledger: this.#ledger, key, identity, request, nowMs }) };
  }

  #verifyOrError(request: VerifyRequest): object {
    try {
      return this.#verify(request);
    } catch (failure) {
      return this.#errorBody(failure);
    }
  }

  #endSecrets(key: FakeKey, untilMs: number): void {
    for (const [secret, { key: owner, untilMs: before }] of this.#secrets)
      if (owner === key) this.#secrets.set(secret, { key, untilMs: Math.min(before, untilMs) });
  }

  #find(keyId: string): FakeKey {
    const key = this.#keys.get(keyId);
    if (key === undefined) throw new AppError('NOT_FOUND', `There is no key ${JSON.stringify(keyId)}.`);
    return key;
  }

  #newId(prefix: string): string {
    return `${prefix}_fake${String(++this.#made).padStart(6, '0')}`;
  }

  #newSecret(key: FakeKey): string {
    const secret = makeSecret(key.prefix, crypto.getRandomValues(new Uint8Array(16)));
    this.#secrets.set(secret, { key, untilMs: Infinity });
    return secret;
  }

  #setFields(key: FakeKey, fields: KeyFields): void {
    setFields(key, fields);
    const owner = ownerIn(fields);
    if (owner !== undefined) key.identityId = owner === null ? null : this.#identities.named(owner).id;
  }

  #check(key: FakeKey, fields: KeyFields): void {
    checkCounters(key, fields);
    const owner = ownerIn(fields) ?? null;
    if (owner !== null && fields.mustExist === true) this.#identities.requireKnown(owner);
    if (owner !== null) this.#identities.requireSpace(owner, key);
  }

  #errorBody(failure: unknown): object {
    const code = failure instanceof AppError ? failure.code : 'INTERNAL_SERVER_ERROR';
    const message = failure instanceof Error ? failure.message : String(failure);
    return { error: { code, message, docs: `/docs/errors#${code}`, requestId: this.#newId('req') } };
  }
}
