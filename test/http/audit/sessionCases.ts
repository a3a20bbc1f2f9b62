import type { Prepared } from './auditCases.ts';
import type { AuditSetup } from './auditSetup.ts';

/** Calls about browsers: those of the dashboard, and those of customers. */
export const SESSION_CASES: Readonly<Record<string, (setup: AuditSetup) => Promise<Prepared>>> = {
  'portal.createSession': async (setup) => {
    const body = { externalId: setup.name('customer'), apiId: await setup.api(), allow: ['create'] };
    await setup.identity(body.externalId);
    return { body, expected: ({ sessionId }) => [['portal.createSession', sessionId as string, undefined, body]] };
  },
  'portal.endSessions': async (setup) => {
    const body = { externalId: setup.name('customer') };
    const identityId = await setup.identity(body.externalId);
    await setup.ok('portal.createSession', { ...body, apiId: await setup.api() });
    return { body, expected: () => [['portal.endSessions', identityId, { sessions: 1 }, undefined]] };
  },
  'sessions.endSession': async (setup) => {
    const { sessionId, rootKeyId } = await setup.session();
    const before = { rootKeyId, browser: 'a browser' };
    return { body: { sessionId }, expected: () => [['session.end', sessionId, before, undefined]] };
  },
};
