import type { GatewayKind } from '../gateway.ts';

/** What a case works with. */
export interface ClusterContext {
  /** Programs that are installed and asked for. */
  readonly kinds: readonly GatewayKind[];
  /** A new folder. */
  readonly newFolder: () => string;
}

/** A case of several nodes on one PostgreSQL. */
export interface ClusterCase {
  readonly name: string;
  /** One of these programs is enough. */
  readonly needs: readonly string[];
  readonly run: (context: ClusterContext) => Promise<string>;
}
