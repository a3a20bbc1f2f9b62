import { readOrder } from '../bench/child.ts';
import { answersIn } from './wire.ts';

export interface CrowdOrder {
  readonly port: number;
  readonly connections: number;
  /** The file with what each connection sends. */
  readonly file: string;
  /** Answers to it. */
  readonly answers: number;
}

/** Entry of a process: many connections that send the same again and again, each as soon as all answers have come. */

const { port, connections, file, answers } = readOrder() as CrowdOrder;
const bytes = new Uint8Array(await Bun.file(file).arrayBuffer());
/** How often each status was answered. */
const seen: Record<string, number> = {};

class Member {
  #sent = 0;
  #missing = 0;
  #received: Buffer = Buffer.alloc(0);

  begin(socket: Bun.Socket<Member>): void {
    this.#sent = 0;
    this.#missing = answers;
    this.write(socket);
  }

  write(socket: Bun.Socket<Member>): void {
    if (this.#sent < bytes.length) this.#sent += Math.max(0, socket.write(bytes.subarray(this.#sent)));
  }

  receive(socket: Bun.Socket<Member>, chunk: Buffer): void {
    const { statuses, rest } = answersIn(Buffer.concat([this.#received, chunk]));
    this.#received = rest;
    for (const status of statuses) seen[status] = (seen[status] ?? 0) + 1;
    this.#missing -= statuses.length;
    if (this.#missing <= 0) this.begin(socket);
  }
}

/** A connection that the service closes is opened again, as a client would do. */
async function connect(): Promise<void> {
  await Bun.connect<Member>({
    hostname: '127.0.0.1',
    port,
    data: new Member(),
    socket: {
      open: (socket) => socket.data.begin(socket),
      data: (socket, chunk) => socket.data.receive(socket, chunk),
      drain: (socket) => socket.data.write(socket),
      close: () => void connect(),
      error: () => {},
    },
  });
}

await Promise.all(Array.from({ length: connections }, connect));
process.stdout.write('connected\n');
for await (const _ of Bun.stdin.stream());
process.stdout.write(`${JSON.stringify(seen)}\n`);
process.exit(0);
