import { defineRoute } from './route.ts';
import { listOf } from '../../model/schema/described.ts';
import { SESSION_EXAMPLE, SessionObject, toSessionObject } from '../shapes/sessionObject.ts';
import { strict } from '../../model/schema/schemas.ts';

export const listSessions = defineRoute({
  path: '/v1/sessions.listSessions',
  method: 'GET',
  summary: 'List the browsers that are signed in to the dashboard, the newest first.',
  description: 'With the right on single root keys, only their sessions are listed. At most 1000 are listed.',
  rights: ['root.*.read_root_key'],
  request: strict({}),
  response: strict({ sessions: listOf(SessionObject, 'The sessions that have not ended, the newest first.') }),
  example: { request: {}, response: { sessions: [SESSION_EXAMPLE] } },
  errors: [],
  async handle(engine, actor) {
    return { sessions: (await engine.sessions.admin.list(actor)).map(toSessionObject) };
  },
});
