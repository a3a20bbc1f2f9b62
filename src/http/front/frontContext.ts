import { answerFailure } from '../answer/answerFailure.ts';
import { makeHandler } from '../app.ts';
import { maxBodyBytesOf } from '../request/bodyBounds.ts';
import type { Service } from '../service.ts';
import { makeVerdictWriter } from '../verify/verdictWriter.ts';
import { verify } from '../verify/verify.ts';
import type { FrontParts } from './connection.ts';
import { Turns } from './fairTurns.ts';
import { Store } from './memoryBudget.ts';
import { AnswerHeads } from './responseHead.ts';

/** What all connections of one front share. */
export function makeFrontParts(service: Service): FrontParts {
  const { config, engine } = service;
  return {
    verify: (asking, body) => verify(service, asking, body),
    verdicts: makeVerdictWriter(service),
    handle: makeHandler(service),
    answerFailure: (failure, request) => answerFailure(service, failure, request),
    maxBodyBytes: maxBodyBytesOf,
    heads: new AnswerHeads(() => engine.system.nowMs()),
    responded: (status) => service.metrics.responded(status),
    hasCors: config.corsOrigins !== null,
    turns: new Turns(service.monotonicMs),
    store: new Store(),
  };
}
