import { AppError, ERRORS } from '../../../src/core/errors.ts';
import { makeSecret } from '../../../src/core/secret.ts';
import type {
  ApisCreateApiRequest,
  KeysCreateKeyRequest,
  KeysDeleteKeyRequest,
  KeysRotateKeyRequest,
  KeysUpdateRemainingRequest,
  KeysUpdateKeyRequest,
  KeysVerifyKeysRequest,
  VerifyRequest,
} from '../generated/api.ts';
import { type FakeKey, newFakeKey, planOf, setFields } from './fakeKey.ts';
import { FakeLedger } from './fakeLedger.ts';
import { verifyFake } from './fakeVerify.ts';

/** The endpoints that the fake has. */
export class FakeService {
  readonly #nowMs: () => number;
  readonly #ledger = new FakeLedger();
  readonly #keys = new Map<string, FakeKey>();
  readonly #bySecret = new Map<string, FakeKey>();
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
      case '/v1/keys.updateKey':
        return this.#update(body as KeysUpdateKeyRequest);
      case '/v1/keys.updateRemaining':
        return this.#updateRemaining(body as KeysUpdateRemainingRequest);
      case '/v1/keys.deleteKey':
        return this.#delete(body as KeysDeleteKeyRequest);
      case '/v1/keys.rotateKey':
        return this.#rotate(body as KeysRotateKeyRequest);
      case '/v1/keys.verifyKey':
        return this.#verify(body as VerifyRequest);
      case '/v1/keys.verifyKeys':
        return { results: (body as KeysVerifyKeysRequest).keys.map((request) => this.#verifyOrError(request)) };
      default:
        throw new AppError('NOT_FOUND', `The fake service has no ${path}. Use a real Keystile to test this call.`);
    }
  }

  #create(fields: KeysCreateKeyRequest): object {
    const key = newFakeKey(this.#newId('key'), fields.apiId, this.#newSecret(fields.prefix ?? null));
    setFields(key, fields, this.#nowMs());
    if (fields.remaining !== undefined) this.#setCredits(key, fields.remaining);
    this.#keys.set(key.keyId, key);
    for (const secret of key.secrets) this.#bySecret.set(secret, key);
    return { keyId: key.keyId, key: key.secrets[0] };
  }

  #update({ keyId, remaining, ...fields }: KeysUpdateKeyRequest): object {
    const key = this.#find(keyId);
    setFields(key, fields, this.#nowMs());
    if (remaining !== undefined) this.#setCredits(key, remaining);
    else if (fields.refill !== undefined && key.hasCredits) this.#setCredits(key, this.#balance(key));
    return {};
  }

  #updateRemaining({ keyId, op, value }: KeysUpdateRemainingRequest): object {
    const key = this.#find(keyId);
    const change = { increment: 1, decrement: -1, set: 0 }[op] * (value ?? 0);
    if (op === 'set' || value === null) this.#setCredits(key, value);
    else this.#setCredits(key, this.#balance(key) + change);
    return { remaining: key.hasCredits ? this.#balance(key) : null };
  }

  #delete({ keyId }: KeysDeleteKeyRequest): object {
    const key = this.#find(keyId);
    this.#keys.delete(keyId);
    for (const secret of key.secrets) this.#bySecret.delete(secret);
    return {};
  }

  /** The old secrets end at once: the fake has no overlap. */
  #rotate({ keyId }: KeysRotateKeyRequest): object {
    const key = this.#find(keyId);
    for (const secret of key.secrets) this.#bySecret.delete(secret);
    const secret = this.#newSecret(null);
    key.secrets = [secret];
    this.#bySecret.set(secret, key);
    return { keyId, key: secret };
  }

  #verify(request: VerifyRequest): object {
    const key = this.#bySecret.get(request.key);
    const requestId = this.#newId('req');
    if (key === undefined) return { valid: false, code: 'NOT_FOUND', requestId, meta: {} };
    return { requestId, ...verifyFake(this.#ledger, key, request, this.#nowMs()) };
  }

  #verifyOrError(request: VerifyRequest): object {
    try {
      return this.#verify(request);
    } catch (failure) {
      return this.#errorBody(failure);
    }
  }

  /** A refill rule starts with the running epoch: it refills at its next boundary, not at once. */
  #setCredits(key: FakeKey, value: number | null): void {
    key.hasCredits = value !== null;
    const mark = planOf(key.refill, this.#nowMs())?.epoch ?? 0;
    this.#ledger.set(this.#creditsOf(key), { value: value ?? 0, mark });
  }

  #balance(key: FakeKey): number {
    const charge = {
      account: this.#creditsOf(key),
      amount: 0,
      rule: { kind: 'credits', refill: planOf(key.refill, this.#nowMs()) },
      revision: 0,
    } as const;
    const outcome = this.#ledger.spend({ charges: [charge], fences: [], idempotency: null }, this.#nowMs());
    return outcome.status === 'taken' ? (outcome.charges[0]?.left ?? 0) : 0;
  }

  #creditsOf({ keyId }: FakeKey): number {
    return this.#ledger.account(`credits ${keyId}`, 'credits');
  }

  #find(keyId: string): FakeKey {
    const key = this.#keys.get(keyId);
    if (key === undefined) throw new AppError('NOT_FOUND', `There is no key ${JSON.stringify(keyId)}.`);
    return key;
  }

  #newId(prefix: string): string {
    return `${prefix}_fake${String(++this.#made).padStart(6, '0')}`;
  }

  #newSecret(prefix: string | null): string {
    return makeSecret(prefix, crypto.getRandomValues(new Uint8Array(16)));
  }

  #errorBody(failure: unknown): object {
    const code = failure instanceof AppError ? failure.code : 'INTERNAL_SERVER_ERROR';
    const message = failure instanceof Error ? failure.message : String(failure);
    return { error: { code, message, docs: `/docs/errors#${code}`, requestId: this.#newId('req') } };
  }
}
