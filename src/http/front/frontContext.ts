import { answerFailure } from '../answer/answerFailure.ts';
import { makeHandler } from '../app.ts';
import { hostCheck } from '../request/framing.ts';
import { maxBodyBytesOf } from '../routes/bodyBounds.ts';
import type { Service } from '../service.ts';
import { makeVerdictWriter } from '../verify/verdictWriter.ts';
import { verify } from '../verify/verify.ts';
import { toVerifyRequest } from '../verify/verifyRequest.ts';
import type { FrontContext } from './connection.ts';
import { LargeBodies } from './largeBodies.ts';
import { MemoryBudget } from './memoryBudget.ts';
import { ResponseHeads } from './responseHead.ts';

/** What all connections of one front share. */
export function makeFrontContext(service: Service): FrontContext {
  const { config, engine } = service;
  return {
    verify: (asking, body) => verify(service, asking, body, toVerifyRequest),
    verdicts: makeVerdictWriter(service),
    handle: makeHandler(service),
    answerFailure: (failure, request) => answerFailure(service, failure, request),
    maxBodyBytes: maxBodyBytesOf,
    heads: new ResponseHeads(() => engine.system.nowMs()),
    responded: (status) => service.metrics.responded(status),
    lifetime: service.lifetime,
    hasCors: config.corsOrigins !== null,
    checkHost: hostCheck(config.host, config.publicUrl),
    turns: engine.turns,
    clientOf: service.clientOf,
    largeBodies: new LargeBodies({
      after: (milliseconds, work) => void setTimeout(work, milliseconds),
      afterOthers: (work) => void setImmediate(work),
    }),
    memory: new MemoryBudget(),
  };
}
