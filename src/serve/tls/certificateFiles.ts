import { CERTIFICATE_DUE_MS } from '../../core/health.ts';
import type { ServerCertificate } from '../../http/front/front.ts';
import type { Task, TaskLog } from '../../storage/port/tasks.ts';
import {
  type CertificatePaths,
  CertificateProblem,
  type CertificateTexts,
  checkCertificate,
  type CertificateState,
  instant,
  keyModeOf,
  readTexts,
} from './certificate.ts';

/** How often the files are read. */
const LOOK_EVERY_MS = 10_000;

interface CertificateFilesContext {
  readonly paths: CertificatePaths;
  readonly nowMs: () => number;
  readonly log: TaskLog;
}

/**
 * The certificate in use. New files are used for new connections. While the files cannot be used, the previous certificate stays in use: a
 * program that renews it writes one file after the other.
 */
export class CertificateFiles {
  readonly #context: CertificateFilesContext;
  #inUse: ServerCertificate;
  /** The problem that was logged last. Null: the files are in use. */
  #problem: string | null = null;
  /** The certificate whose near expiry was logged. */
  #told: ServerCertificate | null = null;

  /** Throws a CertificateProblem when the files cannot be used. */
  constructor(context: CertificateFilesContext) {
    this.#context = context;
    this.#inUse = checkCertificate(context.paths, readTexts(context.paths), context.nowMs());
    this.#tellExpiry();
  }

  get inUse(): ServerCertificate {
    return this.#inUse;
  }

  /** Reads the files first, so that the status is not older than this call. */
  readState(): CertificateState {
    this.look();
    const keyMode = keyModeOf(this.#context.paths);
    return { expiresAtMs: this.#inUse.expiresAtMs, problem: this.#problem, keyMode };
  }

  readonly task: Task = {
    name: 'reading the certificate',
    everyMs: LOOK_EVERY_MS,
    run: async () => this.look(),
  };

  /** Reads the files and uses them from now on. */
  look(): void {
    const { paths, nowMs, log } = this.#context;
    try {
      const texts = readTexts(paths);
      if (!isSame(texts, this.#inUse)) {
        this.#inUse = checkCertificate(paths, texts, nowMs());
        log.info('new connections use the new certificate', { expires: instant(this.#inUse.expiresAtMs) });
      }
      this.#problem = null;
    } catch (error) {
      if (!(error instanceof CertificateProblem)) throw error;
      this.#tellProblem(error.message);
    }
    this.#tellExpiry();
  }

  /** A problem is logged once, until there is another one. */
  #tellProblem(problem: string): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#context.log.warn('the new certificate cannot be used; the previous one stays in use', { reason: problem });
  }

  #tellExpiry(): void {
    const { nowMs, log } = this.#context;
    const { expiresAtMs } = this.#inUse;
    if (this.#told === this.#inUse || expiresAtMs - nowMs() > CERTIFICATE_DUE_MS) return;
    this.#told = this.#inUse;
    log.warn('the certificate expires soon: renew it; the new files are used without a restart', {
      expires: instant(expiresAtMs),
    });
  }
}

function isSame(texts: CertificateTexts, { cert, key }: ServerCertificate): boolean {
  return texts.cert === cert && texts.key === key;
}
