import { lookup } from 'node:dns/promises';

/** All addresses of a name, as the machine resolves it. */
export async function resolveName(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}
