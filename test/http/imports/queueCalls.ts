import type { TestService } from '../../support/service.ts';

/** Calls about queued imports, of the service that a test uses. */
export function queueCalls(at: () => { readonly service: TestService; readonly apiId: string }) {
  const MIGRATION = 'from elsewhere';

  const enqueue = (keys: unknown, fields: object = {}, rootKey?: string) => {
    // What comes in another millisecond comes later.
    at().service.clock.advance(1);
    return at().service.call(
      '/v1/migrations.enqueueKeys',
      { migrationId: MIGRATION, apiId: at().apiId, keys, ...fields },
      rootKey === undefined ? {} : { rootKey },
    );
  };

  const progress = (migrationId = MIGRATION) => at().service.ok('/v1/migrations.getProgress', { migrationId });

  /** What the background does once a second. */
  const workOff = (): Promise<void> => at().service.engine.importQueue.run();

  const secretsOf = (count: number, name = 'key'): string[] =>
    Array.from({ length: count }, (_, i) => `secret-made-elsewhere-${name}-${i}`);

  const plain = (plaintext: string) => ({ plaintext });

  return { MIGRATION, enqueue, progress, workOff, secretsOf, plain };
}
