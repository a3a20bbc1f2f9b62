import { TestService } from '../service.ts';

/** A service on a clock that another process moves. It is killed at any moment. */

export type Request =
  | { readonly id: number; readonly kind: 'call'; readonly path: string; readonly body: unknown }
  | { readonly id: number; readonly kind: 'advance'; readonly ms: number }
  | { readonly id: number; readonly kind: 'sweep' };

export interface Reply {
  readonly id: number;
  readonly status: number;
  readonly body: unknown;
}

const [folder = '', startsAt = ''] = process.argv.slice(2);
const service = await TestService.start({ folder, startsAt });

async function answer(request: Request): Promise<Omit<Reply, 'id'>> {
  switch (request.kind) {
    case 'call': {
      const { status, body } = await service.call(request.path, request.body);
      return { status, body };
    }
    case 'advance':
      service.clock.advance(request.ms);
      return { status: 200, body: null };
    case 'sweep':
      await service.engine.dueCredits.endExpired();
      return { status: 200, body: await service.engine.dueCredits.sweep() };
  }
}

process.on('message', (request: Request) => {
  void answer(request).then((reply) => process.send?.({ id: request.id, ...reply }));
});
process.send?.({ id: 0, status: 200, body: 'ready' });
