import type { RootKeyRecord } from '../model/access.ts';
import { COMMAND_LINE } from '../engine/admin/change/actor.ts';
import type { ServiceStatus } from '../engine/admin/status/serviceStatus.ts';
import type { NewRootKey } from '../engine/admin/rootKeys/rootKeyAdmin.ts';
import type { Engine } from '../engine/engine.ts';

/** A command of the command line for the owner of the data folder, most of them about root keys. The running server executes it, or the command itself when no server runs. */
export type RootKeyCommand =
  | { readonly command: 'create'; readonly input: NewRootKey }
  | { readonly command: 'list' }
  | { readonly command: 'rotate'; readonly rootKeyId: string; readonly overlapMs: number }
  | { readonly command: 'revoke'; readonly rootKeyId: string }
  /** What the service finds wrong with itself. */
  | { readonly command: 'status' };

/** A root key without its digest, safe to show. */
export type RootKeyShown = Omit<RootKeyRecord, 'secretDigest'>;

export type RootKeyAnswer =
  | { readonly created: RootKeyShown; readonly secret: string }
  | { readonly rootKeys: readonly RootKeyShown[] }
  | { readonly rotated: string; readonly secret: string }
  | { readonly revoked: string }
  | { readonly status: Pick<ServiceStatus, 'problems' | 'checks'> };

export async function runRootKeyCommand(engine: Engine, command: RootKeyCommand): Promise<RootKeyAnswer> {
  switch (command.command) {
    case 'create': {
      const { rootKey, secret } = await engine.rootKeys.create(command.input, COMMAND_LINE);
      return { created: shown(rootKey), secret };
    }
    case 'list':
      return { rootKeys: (await engine.rootKeys.list(COMMAND_LINE)).map(shown) };
    case 'rotate': {
      const { rootKeyId, overlapMs } = command;
      return { rotated: rootKeyId, secret: await engine.rootKeys.rotate(rootKeyId, overlapMs, COMMAND_LINE) };
    }
    case 'revoke':
      await engine.rootKeys.revoke(command.rootKeyId, COMMAND_LINE);
      return { revoked: command.rootKeyId };
    case 'status': {
      const { problems, checks } = await engine.status.read(COMMAND_LINE);
      return { status: { problems, checks } };
    }
  }
}

function shown({ secretDigest: _digest, ...rest }: RootKeyRecord): RootKeyShown {
  return rest;
}
