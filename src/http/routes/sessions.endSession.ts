import { defineRoute } from './route.ts';
import { field } from '../../model/schema/described.ts';
import { SESSION_EXAMPLE } from '../shapes/sessionObject.ts';
import { Empty, Id, strict } from '../../model/schema/schemas.ts';

export const endSession = defineRoute({
  path: '/v1/sessions.endSession',
  method: 'POST',
  summary: 'End a session of the dashboard at once, on all nodes.',
  description: 'The browser has to sign in again. The root key that it signed in with stays valid.',
  rights: ['root.*.revoke_root_key'],
  command: { asksFirst: 'always' },
  request: strict({
    sessionId: field(Id, 'The id of a session, as returned by `sessions.listSessions`.', SESSION_EXAMPLE.id),
  }),
  response: Empty,
  example: { request: { sessionId: SESSION_EXAMPLE.id }, response: {} },
  errors: ['NOT_FOUND'],
  async handle(engine, actor, { sessionId }) {
    await engine.sessions.admin.end(sessionId, actor);
    return {};
  },
});
