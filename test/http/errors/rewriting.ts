import type { Target } from '../../../tools/fuzz/targets.ts';

/** A front that reads something else than what it is sent: stands before a right one and rewrites what comes. */
export function rewriting(target: Target, rewrite: (text: string) => string): Target & AsyncDisposable {
  const listener = Bun.listen<{ behind: Promise<Bun.Socket> }>({
    hostname: '127.0.0.1',
    port: 0,
    allowHalfOpen: true,
    socket: {
      open(client) {
        const behind = Bun.connect({
          hostname: '127.0.0.1',
          port: target.port,
          allowHalfOpen: true,
          socket: {
            data: (_socket, bytes) => void client.write(bytes),
            end: () => void client.end(),
            close: () => void client.end(),
          },
        });
        client.data = { behind };
      },
      data(client, bytes) {
        const rewritten = Buffer.from(rewrite(bytes.toString('latin1')), 'latin1');
        void client.data.behind.then((behind) => behind.write(rewritten));
      },
      end: (client) => void client.data.behind.then((behind) => behind.shutdown()),
      close: (client) => void client.data.behind.then((behind) => behind.terminate()),
      error: () => undefined,
    },
  });
  const stop = async (): Promise<void> => listener.stop(true);
  return { port: listener.port, takeSeen: () => target.takeSeen(), stop, [Symbol.asyncDispose]: stop };
}
