import { MAX_VERIFY_BODY_BYTES } from '../../../src/core/bounds.ts';
import { UNKNOWN_KEY } from '../../../src/engine/verify/verdict.ts';
import { checkHost } from '../../../src/http/request/body.ts';
import { ResponseHeads } from '../../../src/http/front/responder.ts';
import { Connection, type FrontContext, type Socket } from '../../../src/http/front/front.ts';
import { MemoryBudget } from '../../../src/http/front/frontLimits.ts';
import { Turns } from '../../../src/engine/fairTurns.ts';
import { LargeBodies } from '../../../src/http/front/requestBody.ts';

export const BUDGET_BYTES = 1 << 20;

/** A client's end that takes as much as it is told to, and notes what is done with it. */
export class FakeSocket implements Socket {
  readonly remoteAddress = '127.0.0.1';
  readonly did: string[] = [];
  written = '';
  writable = Infinity;

  write(bytes: string | Uint8Array): number {
    const text = Buffer.from(bytes as string).toString('latin1');
    const taken = text.slice(0, Math.min(text.length, this.writable));
    this.writable -= taken.length;
    this.written += taken;
    return taken.length;
  }

  timeout(): void {
    this.did.push('timeout');
  }
  shutdown(): void {
    this.did.push('shutdown');
  }
  end(): void {
    this.did.push('end');
  }
  terminate(): void {
    this.did.push('terminate');
  }
  pause(): void {
    this.did.push('pause');
  }
  resume(): void {
    this.did.push('resume');
  }

  /** What was done since the last look, without the time limits. */
  look(): string[] {
    return this.did.splice(0).filter((each) => each !== 'timeout');
  }
}

/** One connection, on a clock and an event loop that the test moves. */
export class ConnectionSetup {
  nowMs = 0;
  /** Targets that were asked for, and the bodies that came with them. */
  readonly asked: string[] = [];
  readonly bodies: number[] = [];
  readonly responses: number[] = [];
  /** The last general request. */
  request: Request | null = null;
  readonly socket = new FakeSocket();
  readonly memory: MemoryBudget;
  readonly connection: Connection;
  readonly context: FrontContext;
  readonly #passes: (() => void)[] = [];
  /** What waits for a time. */
  readonly timers: (() => void)[] = [];
  /** What general requests are answered, each when it is called. */
  readonly waiting: ((response: Response) => void)[] = [];

  constructor(
    answer: ((setup: ConnectionSetup) => Response) | null = null,
    verifyMs = 0,
    memory = new MemoryBudget(BUDGET_BYTES),
  ) {
    this.memory = memory;
    this.context = {
      fast: {
        path: '/v1/keys.verifyKey',
        maxBodyBytes: MAX_VERIFY_BODY_BYTES,
        decide: () => {
          this.asked.push('verify');
          this.nowMs += verifyMs;
          return UNKNOWN_KEY;
        },
        text: () => '{}',
        bytes: () => 2,
        headerLines: () => '',
      },
      answerFailure: (failure) => new Response(String((failure as { code?: string }).code), { status: 400 }),
      handle: async (request) => {
        this.request = request;
        this.asked.push(new URL(request.url).pathname);
        this.bodies.push((await request.bytes()).length);
        return answer === null ? new Promise((resolve) => this.waiting.push(resolve)) : answer(this);
      },
      maxBodyBytes: () => BUDGET_BYTES * 2,
      heads: new ResponseHeads(() => 0),
      responded: (status) => this.responses.push(status),
      lifetime: { isStopping: false },
      hasCors: false,
      checkHost,
      turns: new Turns(
        () => this.nowMs,
        (work) => this.#passes.push(work),
      ),
      clientOf: () => this.socket.remoteAddress,
      largeBodies: new LargeBodies({
        after: (_milliseconds, work) => this.timers.push(work),
        afterOthers: (work) => this.#passes.push(work),
      }),
      memory: this.memory,
    };
    this.connection = new Connection(this.context, this.socket);
    this.socket.look();
  }

  send(text: string): void {
    this.connection.receive(Buffer.from(text, 'latin1'));
  }

  /** Everything that needs no other pass of the event loop. */
  async settle(): Promise<void> {
    for (let i = 0; i < 100; i++) await Promise.resolve();
    await new Promise((resolve) => setImmediate(resolve));
  }

  async pass(): Promise<void> {
    for (const work of this.#passes.splice(0)) work();
    await this.settle();
  }
}
