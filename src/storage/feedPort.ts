import type { RecordWrite } from './recordsPort.ts';

/** What has changed: what was kept of it must go. */
export interface FeedChange {
  /** Keys, by the digests of their secrets; null = anything may have changed. */
  readonly keys: readonly string[] | null;
  readonly apis: readonly string[];
  readonly identities: readonly string[];
  readonly namespaces: readonly string[];
  /** Roles or permissions stand for something else. */
  readonly rbac: boolean;
  readonly rootKeys: boolean;
}

/** What writes touch of what nodes keep in memory; null = nothing. */
export function feedChangeOf(writes: readonly RecordWrite[]): FeedChange | null {
  const [keys, apis, identities, namespaces]: string[][] = [[], [], [], []];
  let [rbac, rootKeys] = [false, false];
  for (const write of writes) {
    switch (write.kind) {
      // A new key ends what nodes remember of its digest: that there is none.
      case 'insertKey':
        keys?.push(write.key.secretDigest);
        break;
      case 'updateKey':
        keys?.push(write.key.secretDigest, ...(write.formerDigests ?? []));
        break;
      case 'retireKeys':
      case 'removeKeys':
        for (const { digests } of write.keys) keys?.push(...digests);
        break;
      case 'removeKey':
        keys?.push(...write.digests);
        break;
      case 'updateApi':
        if (write.endsKeys) apis?.push(write.api.id);
        break;
      case 'updateIdentity':
        identities?.push(write.identity.id);
        break;
      case 'removeIdentity':
        identities?.push(write.identityId);
        break;
      case 'removePermission':
      case 'updateRole':
      case 'removeRole':
        rbac = true;
        break;
      case 'insertNamespace':
        namespaces?.push(write.namespace.id, write.namespace.name);
        break;
      case 'insertOverride':
      case 'updateOverride':
        namespaces?.push(write.override.namespaceId);
        break;
      case 'removeOverride':
        namespaces?.push(write.namespaceId);
        break;
      case 'insertRootKey':
      case 'rotateRootKey':
      case 'revokeRootKey':
        rootKeys = true;
        break;
      default:
    }
  }
  const lists = { keys: keys ?? [], apis: apis ?? [], identities: identities ?? [], namespaces: namespaces ?? [] };
  if (!rbac && !rootKeys && Object.values(lists).every((list) => list.length === 0)) return null;
  return { ...lists, rbac, rootKeys };
}

/** What other nodes change on the same database. */
export interface Feed {
  /** False when a change may be unknown here for longer than allowed: nothing that is kept in memory may be used. */
  isFresh(): boolean;
  /** Asks now, shared by all who wait. When it is done, the node is fresh. Rejects when that is not so in time. */
  confirm(): Promise<void>;
  onChange(listener: (change: FeedChange) => void): void;
}

/** The feed of a process that makes all changes itself. */
export const ALONE: Feed = { isFresh: () => true, confirm: () => Promise.resolve(), onChange() {} };
