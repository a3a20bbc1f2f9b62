import type { Address } from '../../core/address.ts';
import { AppError } from '../../core/errors.ts';
import { holdsRight, holdsRightSomewhere } from '../../core/rights.ts';
import type { QuotaHolder } from '../../engine/perSecondQuotas.ts';
import type { Caller, VerifyRequest } from '../../engine/verify/request.ts';
import { authenticateRootKey, type RequestedBy } from '../authentication.ts';
import type { Asking, Service } from '../service.ts';

/** Who asks for a verification. One request has one caller, also when it verifies many keys. */
export class VerifyCaller implements Caller {
  /** Apis whose keys the caller may verify; null = all. */
  readonly mayVerify: VerifyRequest['mayVerify'];
  readonly asking: Asking;
  readonly #service: Service;
  readonly #rootKey: RootKey | null;

  constructor(service: Service, asking: Asking, rootKey: RootKey | null) {
    this.#service = service;
    this.asking = asking;
    this.#rootKey = rootKey;
    this.mayVerify = rootKey === null ? null : (apiId) => holdsRight(rootKey.rights, 'api.verify_key', apiId);
  }

  address(): Address | null {
    return this.#service.addressOf(this.asking);
  }

  /** Counts verifications against the quota of the root key, or of the address. Throws when they are too many for this second. */
  take(count: number): void {
    const { verificationQuota, storage } = this.#service.engine;
    if (verificationQuota === null) return;
    verificationQuota.take(this.holder(), count, storage.ledger.nowMs());
  }

  /** In whose name verifications are counted, and wait for their turn. */
  holder(): QuotaHolder {
    if (this.#rootKey !== null) return { kind: 'root key', name: this.#rootKey.id };
    return { kind: 'address', name: this.#service.clientOf(this.asking) };
  }
}

/** An explanation tells more than a verdict. It needs a root key that may read the key; any other key is NOT_FOUND for it. */
export async function asReader(
  service: Service,
  { asking }: VerifyCaller,
  request: VerifyRequest,
): Promise<VerifyRequest> {
  const { rights } = (await authenticateRootKey(service, asking.headers, true)).rootKey;
  if (!holdsRightSomewhere(rights, 'api.read_key')) {
    throw new AppError('INSUFFICIENT_PERMISSIONS', 'To explain a verdict, a root key needs the right api.*.read_key.');
  }
  const { mayVerify } = request;
  return {
    ...request,
    mayVerify: (apiId) => (mayVerify === null || mayVerify(apiId)) && holdsRight(rights, 'api.read_key', apiId),
  };
}

/** The one place that decides who may verify (KEYSTILE_VERIFY_AUTH). It answers at once where everyone may. */
export function authenticateCaller(service: Service, asking: Asking): VerifyCaller | PromiseLike<VerifyCaller> {
  return service.config.verifyAuth === 'open' ? new VerifyCaller(service, asking, null) : authenticate(service, asking);
}

type RootKey = RequestedBy['rootKey'];

async function authenticate(service: Service, asking: Asking): Promise<VerifyCaller> {
  const { rootKey } = await authenticateRootKey(service, asking.headers, true);
  if (!holdsRightSomewhere(rootKey.rights, 'api.verify_key')) {
    throw new AppError('INSUFFICIENT_PERMISSIONS', 'This root key lacks the right api.*.verify_key.');
  }
  return new VerifyCaller(service, asking, rootKey);
}
