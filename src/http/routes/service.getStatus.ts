import { defineRoute } from './route.ts';
import { strict } from '../../model/schema/schemas.ts';
import { STATUS_EXAMPLE, StatusObject, toStatusObject } from '../shapes/statusObject.ts';

export const getStatus = defineRoute({
  path: '/v1/service.getStatus',
  method: 'GET',
  summary:
    'Read how the service is doing: its nodes, how fast this one answers, what is wrong and what to do, and its settings.',
  description:
    'Secrets are never shown. The answer is at most a second old. `work`, `checks` and `configuration` are those of the node that answers.',
  rights: ['service.*.read_status'],
  command: { name: 'service status' },
  request: strict({}),
  response: StatusObject,
  example: { request: {}, response: STATUS_EXAMPLE },
  errors: [],
  async handle(engine, actor) {
    return toStatusObject(await engine.status.read(actor));
  },
});
