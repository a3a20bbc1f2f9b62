import { AppError, ERRORS } from '../../../src/core/errors.js';
import { makeSecret } from '../../../src/core/secret.js';
import { changeCounters, checkCounters, creditCharges } from './fakeCounters.js';
import { FakeIdentities } from './fakeIdentities.js';
import { newFakeKey, ownerIn, setFields } from './fakeKey.js';
import { FakeLedger } from './fakeLedger.js';
import { verifyFake } from './fakeVerify.js';
/** The endpoints that the fake has. */
export class FakeService {
  #nowMs;
  #ledger = new FakeLedger();
  #identities = new FakeIdentities(
    this.#ledger,
    () => this.#newId('id'),
    (identityId) => [...this.#keys.values()].filter((key) => key.identityId === identityId),
  );
  #keys = new Map();
  #secrets = new Map();
  #made = 0;
  constructor(nowMs) {
    this.#nowMs = nowMs;
  }
  /** Answers one request as the service would: status and body. */
  answer(path, body) {
    try {
      return { status: 200, body: this.#call(path, body) };
    } catch (failure) {
      return {
        status: failure instanceof AppError ? ERRORS[failure.code].status : 500,
        body: this.#errorBody(failure),
      };
    }
  }
  #call(path, body) {
    switch (path) {
      case '/v1/apis.createApi':
        return { apiId: this.#newId('api'), name: body.name };
      case '/v1/keys.createKey':
        return this.#create(body);
      case '/v1/keys.createKeys':
        return { keys: this.#createMany(body) };
      case '/v1/keys.updateKey':
        return this.#update(body);
      case '/v1/keys.updateRemaining':
        return this.#updateRemaining(body);
      case '/v1/keys.deleteKey':
        return this.#delete(body);
      case '/v1/keys.rotateKey':
        return this.#rotate(body);
      case '/v1/identities.createIdentity':
        return this.#identities.create(body, this.#nowMs());
      case '/v1/identities.getIdentity':
        return this.#identities.get(body, this.#nowMs());
      case '/v1/identities.updateIdentity':
        return this.#identities.update(body, this.#nowMs());
      case '/v1/identities.deleteIdentity':
        return this.#deleteIdentity(body);
      case '/v1/keys.verifyKey':
        return this.#verify(body);
      case '/v1/keys.verifyKeys':
        return { results: body.keys.map((request) => this.#verifyOrError(request)) };
      default:
        throw new AppError('NOT_FOUND', `The fake service has no ${path}. Use a real Keystile to test this call.`);
    }
  }
  /** All of them or none: the keys before one that is refused are deleted again. */
  #createMany({ apiId = '', keys }) {
    const made = [];
    try {
      for (const fields of keys) made.push(this.#create({ ...fields, apiId: fields.apiId ?? apiId }));
      return made;
    } catch (failure) {
      for (const { keyId } of made) this.#delete({ keyId });
      if (!(failure instanceof AppError)) throw failure;
      throw new AppError(failure.code, `keys[${made.length}]: ${failure.message}`);
    }
  }
  #create(fields) {
    const key = newFakeKey(this.#newId('key'), fields);
    this.#check(key, fields);
    this.#setFields(key, fields);
    changeCounters(this.#ledger, key, fields, this.#nowMs());
    this.#keys.set(key.id, key);
    return { keyId: key.id, key: this.#newSecret(key) };
  }
  #update({ keyId, ...fields }) {
    const key = this.#find(keyId);
    this.#check(key, fields);
    changeCounters(this.#ledger, key, fields, this.#nowMs());
    this.#setFields(key, fields);
    return {};
  }
  #updateRemaining({ keyId, op, value }) {
    const [key, nowMs] = [this.#find(keyId), this.#nowMs()];
    if (op === 'set' && (value === null || key.credits === null)) {
      changeCounters(this.#ledger, key, { remaining: value }, nowMs);
      return { remaining: value };
    }
    const [charge] = creditCharges(this.#ledger, key, 0, nowMs);
    if (charge?.rule.kind !== 'credits')
      throw new AppError('BAD_REQUEST', `The key ${keyId} has no counter to change; use op "set" to give it one.`);
    const by = value ?? 0;
    const change = op === 'set' ? { set: by } : { add: op === 'increment' ? by : -by };
    return { remaining: this.#ledger.change(charge.account, { refill: charge.rule.refill, ...change }, nowMs) };
  }
  #delete({ keyId }) {
    const key = this.#find(keyId);
    this.#keys.delete(keyId);
    this.#endSecrets(key, -Infinity);
    return {};
  }
  #deleteIdentity(request) {
    for (const { id } of this.#identities.delete(request)) this.#delete({ keyId: id });
    return {};
  }
  /** The old secret stays valid for the overlap. Without one, all former secrets end at once. */
  #rotate({ keyId, overlapMs }) {
    const key = this.#find(keyId);
    this.#endSecrets(key, overlapMs > 0 ? this.#nowMs() + overlapMs : -Infinity);
    return { keyId, key: this.#newSecret(key) };
  }
  #verify(request) {
    const [requestId, nowMs] = [this.#newId('req'), this.#nowMs()];
    const { key, untilMs = 0 } = this.#secrets.get(request.key) ?? {};
    if (key === undefined || nowMs >= untilMs) return { valid: false, code: 'NOT_FOUND', requestId, meta: {} };
    const identity = this.#identities.byId(key.identityId);
    return { requestId, ...verifyFake({ ledger: this.#ledger, key, identity, request, nowMs }) };
  }
  #verifyOrError(request) {
    try {
      return this.#verify(request);
    } catch (failure) {
      return this.#errorBody(failure);
    }
  }
  #endSecrets(key, untilMs) {
    for (const [secret, { key: owner, untilMs: before }] of this.#secrets)
      if (owner === key) this.#secrets.set(secret, { key, untilMs: Math.min(before, untilMs) });
  }
  #find(keyId) {
    const key = this.#keys.get(keyId);
    if (key === undefined) throw new AppError('NOT_FOUND', `There is no key ${JSON.stringify(keyId)}.`);
    return key;
  }
  #newId(prefix) {
    return `${prefix}_fake${String(++this.#made).padStart(6, '0')}`;
  }
  #newSecret(key) {
    const secret = makeSecret(key.prefix, crypto.getRandomValues(new Uint8Array(16)));
    this.#secrets.set(secret, { key, untilMs: Infinity });
    return secret;
  }
  #setFields(key, fields) {
    setFields(key, fields);
    const owner = ownerIn(fields);
    if (owner !== undefined) key.identityId = owner === null ? null : this.#identities.named(owner).id;
  }
  #check(key, fields) {
    checkCounters(key, fields);
    const owner = ownerIn(fields) ?? null;
    if (owner !== null) this.#identities.requireSpace(owner, key);
  }
  #errorBody(failure) {
    const code = failure instanceof AppError ? failure.code : 'INTERNAL_SERVER_ERROR';
    const message = failure instanceof Error ? failure.message : String(failure);
    return { error: { code, message, docs: `/docs/errors#${code}`, requestId: this.#newId('req') } };
  }
}
