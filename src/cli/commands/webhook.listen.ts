import { signatures } from '../../outgoing/signature.ts';
import { EXIT } from '../../serve/exit.ts';
import { usingService } from '../ask.ts';
import type { Command } from '../command.ts';
import { findRunningService } from '../findService.ts';
import { countFlag } from '../flags.ts';
import type { Io } from '../io.ts';
import { jsonLine, showTime, visible } from '../output/print.ts';
import { loadRootKey } from '../secrets.ts';
import { readClientSettings } from '../profiles.ts';

interface Event {
  readonly id: string;
  readonly type: string;
  readonly time: number;
  readonly data: object;
}

export const webhookListen: Command = {
  name: 'webhook listen',
  takesProfile: true,
  summary: 'Try webhooks on this machine: receive events and print them until Ctrl-C.',
  operands: [],
  flags: {
    event: {
      value: 'TYPE',
      meaning: 'Only events of this type, such as key.created. All when absent.',
      isRepeatable: true,
    },
    count: { value: 'N', meaning: 'Stop after this many events.' },
  },
  examples: ['keystile webhook listen', 'keystile webhook listen --event key.created --count 1 --json'],
  async run({ io, flags, isJson }) {
    const { config } = await readClientSettings(io, flags);
    const rootKey = await loadRootKey(io, config);
    const connection = await findRunningService(config, 'Nothing sends events: the service is not running.');
    const events = flags.list('event');
    using receiver = new EventReceiver(countFlag(flags, 'count') ?? Infinity, (event) => show(io, event, isJson));
    await usingService(connection, rootKey, async (ask) => {
      const body = { url: receiver.url, ...(events.length === 0 ? {} : { events }) };
      const made = await ask<{ webhookId: string; secret: string }>('webhooks.createWebhook', body);
      receiver.secret.resolve(made.secret);
      io.err(`Listening at ${receiver.url}. Every event that is printed has the right signature. Ctrl-C stops it.\n`);
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, receiver.done.resolve);
      await receiver.done.promise;
      await ask('webhooks.deleteWebhook', { webhookId: made.webhookId });
    });
    return EXIT.OK;
  },
};

function show(io: Io, event: Event, isJson: boolean): void {
  const line = `${showTime(event.time)}  ${visible(event.type)}  ${visible(JSON.stringify(event.data))}\n`;
  io.out(isJson ? jsonLine(event) : line);
}

/** A target on this machine. What it gets without the right signature is refused and not shown. */
class EventReceiver implements Disposable {
  readonly secret = Promise.withResolvers<string>();
  readonly done = Promise.withResolvers<void>();
  readonly #seen = new Set<string>();
  readonly #max: number;
  readonly #show: (event: Event) => void;
  readonly #server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: (request) => this.#take(request) });

  constructor(max: number, show_: (event: Event) => void) {
    this.#max = max;
    this.#show = show_;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/`;
  }

  async #take(request: Request): Promise<Response> {
    const body = await request.text();
    const [id, seconds, given] = ['id', 'timestamp', 'signature'].map((name) => request.headers.get(`webhook-${name}`));
    const wanted = signatures({ id: id ?? '', seconds: Number(seconds), body }, [await this.secret.promise]);
    if (!(given ?? '').split(' ').includes(wanted)) return new Response('wrong signature', { status: 401 });
    const event = JSON.parse(body) as Event;
    // An event can come twice.
    if (this.#seen.size < this.#max && !this.#seen.has(event.id)) this.#show(event);
    this.#seen.add(event.id);
    if (this.#seen.size >= this.#max) this.done.resolve();
    return new Response(null, { status: 204 });
  }

  [Symbol.dispose](): void {
    void this.#server.stop(true);
  }
}
