import type { Log } from '../../log.ts';
import { type BuiltPages, BuildFailed } from './build.ts';
import { currentDigest, findOrBuild } from './keptBuild.ts';

export interface BuildSteps {
  readonly currentDigest: () => Promise<string | null>;
  readonly findOrBuild: (digest: string | null) => Promise<BuiltPages>;
}

/**
 * The built pages of this process:
 *
 *   nothing   nobody has asked yet. The first request builds, and others wait for the same build.
 *   built     kept until the process ends
 *   failed    kept until a source changes. Requests meanwhile read the sources, and build nothing.
 */
export class BuildOnce {
  readonly #log: Log;
  readonly #steps: BuildSteps;
  #built: Promise<BuiltPages> | null = null;
  #failed: { readonly digest: string | null; readonly error: BuildFailed } | null = null;

  constructor(log: Log, steps: BuildSteps = { currentDigest, findOrBuild }) {
    this.#log = log;
    this.#steps = steps;
  }

  /** Rejects with BuildFailed when the sources are wrong. */
  get(): Promise<BuiltPages> {
    this.#built ??= this.#build().catch((error: unknown) => {
      this.#built = null;
      throw error;
    });
    return this.#built;
  }

  async #build(): Promise<BuiltPages> {
    const digest = await this.#steps.currentDigest();
    if (this.#failed?.digest === digest) throw this.#failed.error;
    try {
      return await this.#steps.findOrBuild(digest);
    } catch (error) {
      if (!(error instanceof BuildFailed)) throw error;
      this.#failed = { digest, error };
      this.#log.error('the pages cannot be built', { reason: error.message });
      throw error;
    }
  }
}
