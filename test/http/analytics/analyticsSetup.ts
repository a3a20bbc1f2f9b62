import { expect } from 'bun:test';

import { type Answer, TestService } from '../../support/service.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;
export const NOW = '2026-03-15T12:00:00Z';

export type Fields = Record<string, unknown>;

export const ZERO = {
  valid: 0,
  notFound: 0,
  forbidden: 0,
  usageExceeded: 0,
  rateLimited: 0,
  unauthorized: 0,
  disabled: 0,
  insufficientPermissions: 0,
  expired: 0,
  total: 0,
  credits: 0,
};

/** A row of nothing but valid verifications. */
export const valid = (count: number, fields: Fields = {}): Fields => ({
  ...ZERO,
  valid: count,
  total: count,
  ...fields,
});

/** A service with one api, and its analytics. */
export class AnalyticsApiSetup {
  readonly service: TestService;
  readonly apiId: string;

  private constructor(service: TestService, apiId: string) {
    this.service = service;
    this.apiId = apiId;
  }

  static async make(settings: Readonly<Record<string, string>> = {}): Promise<AnalyticsApiSetup> {
    return AnalyticsApiSetup.on(await TestService.start({ startsAt: NOW, settings }));
  }

  /** With a new api, at `NOW`: dates stand in the tests, and of an api that is new nothing was counted before. */
  static async on(service: TestService): Promise<AnalyticsApiSetup> {
    service.clock.set(NOW);
    return new AnalyticsApiSetup(service, await service.createApi());
  }

  call(fields: Fields = {}, rootKey?: string): Promise<Answer> {
    const body = { apiId: this.apiId, ...fields };
    return this.service.call('/v1/analytics.getVerifications', body, rootKey === undefined ? {} : { rootKey });
  }

  async ask(fields: Fields = {}): Promise<Fields[]> {
    const answer = await this.call(fields);
    expect([answer.status, answer.text]).toEqual([200, answer.text]);
    return answer.body as Fields[];
  }

  createKey(fields: Fields = {}): Promise<{ keyId: string; key: string }> {
    // Ids are in the order of the time.
    this.service.clock.advance(1);
    return this.service.createKey({ apiId: this.apiId, ...fields });
  }

  async verifyTimes(key: string, times: number, fields: Fields = {}): Promise<void> {
    for (let n = 0; n < times; n++) await this.service.verify(key, fields);
  }

  /** Keys of two owners and one of nobody, verified at three times with and without tags. */
  async someTraffic() {
    const { service } = this;
    const a = await this.createKey({ externalId: 'user_1', name: 'a' });
    const b = await this.createKey({ externalId: 'user_2' });
    const plain = await this.createKey();
    service.clock.set('2026-02-10T10:30:00Z');
    await this.verifyTimes(a.key, 1, { tags: ['web', 'eu'] });
    service.clock.set('2026-03-14T23:59:59.999Z');
    await this.verifyTimes(b.key, 2, { tags: ['web'] });
    await this.verifyTimes(plain.key, 3);
    service.clock.set(NOW);
    await this.verifyTimes(a.key, 4, { tags: ['eu', 'web'] });
    await this.verifyTimes(plain.key, 5);
    const identityOf = async (keyId: string) => {
      const { identity } = (await service.ok('/v1/keys.getKey', { keyId })) as { identity: { id: string } & Fields };
      return { id: identity.id, externalId: identity['externalId'] };
    };
    const identities = { identity: await identityOf(a.keyId), other: await identityOf(b.keyId) };
    return { a: a.keyId, b: b.keyId, plain: plain.keyId, ...identities };
  }
}
