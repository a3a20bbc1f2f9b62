/** What is known about the packages of the lockfile. */
export interface AuditReport {
  readonly lines: readonly string[];
  /** 0: nothing is known against them. 1: something is. 2: nobody could be asked. */
  readonly code: 0 | 1 | 2;
}

interface Vulnerability {
  readonly severity: string;
  readonly range: string;
  readonly fixAvailable?: boolean | { readonly name: string; readonly version: string };
  readonly via: readonly (string | { readonly title?: string; readonly url?: string })[];
}

type Vulnerabilities = Readonly<Record<string, Vulnerability>>;

/** Reads the answers of `npm audit --json`: of all packages, and of those that the service runs with. */
export function auditReport(ofAll: string, ofService: string): AuditReport {
  const [all, service] = [vulnerabilitiesIn(ofAll), vulnerabilitiesIn(ofService)];
  if (typeof all === 'string') return notAsked(all);
  if (typeof service === 'string') return notAsked(service);
  const lines = Object.entries(all).map(([name, found]) => lineOf(name, found, name in service));
  if (lines.length === 0) return { lines: ['No known vulnerability in any package.'], code: 0 };
  return { lines: [...lines, `${lines.length} packages have known vulnerabilities.`], code: 1 };
}

function notAsked(reason: string): AuditReport {
  return {
    lines: [
      `The registry did not answer (${reason}), so no package was compared with known vulnerabilities.`,
      'Run npm run audit where npm reaches a registry that answers audits.',
    ],
    code: 2,
  };
}

/** The vulnerabilities by package; a text says why there is no answer. */
function vulnerabilitiesIn(answer: string): Vulnerabilities | string {
  let parsed: { readonly vulnerabilities?: Vulnerabilities; readonly message?: string };
  try {
    parsed = JSON.parse(answer) as typeof parsed;
  } catch {
    return 'npm printed no report';
  }
  return parsed.vulnerabilities ?? parsed.message ?? 'npm printed no report';
}

function lineOf(name: string, { severity, range, via, fixAvailable }: Vulnerability, isOfService: boolean): string {
  const reasons = via.map((each) => (typeof each === 'string' ? `through ${each}` : `${each.title} ${each.url}`));
  const where = isOfService ? 'the service' : 'development only';
  const fix = fixAvailable === undefined || fixAvailable === false ? 'no fix yet' : 'a fix is available';
  return `${severity}: ${name} ${range} (${where}; ${fix}): ${reasons.join('; ')}`;
}
