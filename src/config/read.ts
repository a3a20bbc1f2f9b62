import { isLoopback } from '../core/address.ts';
import { MIN_ROOT_KEY_LENGTH } from '../core/bounds.ts';
import { repeatable } from '../core/errors.ts';
import { nearestName } from '../basics/nearestName.ts';
import { isSecretShaped } from '../core/secret.ts';
import { type Config, flagName, type Origin, type Setting, type Variable, VARIABLES } from './variables.ts';

interface ConfigSources {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Settings given as flags. They take precedence over the environment. */
  readonly flags: Readonly<Partial<Record<Setting, string>>>;
  /** Which variables the file of `--env-file` gave, for a person who looks for the source of a value. */
  readonly envFile?: { readonly path: string; readonly names: ReadonlySet<string> };
  readFile(path: string): string;
}

interface ConfigReading {
  /** Null when there are problems. */
  readonly config: Config | null;
  /** One sentence for each problem. */
  readonly problems: readonly string[];
  /** One sentence for each variable that is ignored. */
  readonly notes: readonly string[];
  /** Where each value comes from, for a person: `default`, `environment`, `--port`, or a file. */
  readonly sources: Readonly<Record<Setting, string>>;
}

/** A text that was given for a setting. `from` is the name that it was given under. */
interface Given {
  readonly text: string;
  readonly from: string;
  readonly origin: Origin;
  readonly source: string;
}

const SETTINGS = Object.keys(VARIABLES) as Setting[];

/** Removed settings, and why they have no effect. Each is ignored for one minor version, so that an upgrade does not fail. */
const REMOVED = new Map([['KEYSTILE_HTTP_SERVER', 'the service always uses its own HTTP server']]);

/** One sentence for each removed setting that is still set. */
export function removedIn(environment: ConfigSources['environment']): string[] {
  const given = [...REMOVED].filter(([name]) => environment[name] !== undefined);
  return given.map(([name, reason]) => `${name} is ignored: ${reason}. Remove this variable.`);
}

/** The flags of removed settings, each with the reason that a user of the flag is told. */
export const REMOVED_FLAGS: Readonly<Record<string, string>> = Object.fromEntries(
  [...REMOVED].map(([name, reason]) => [
    name.replace('KEYSTILE_', '').toLowerCase().replaceAll('_', '-'),
    `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`,
  ]),
);

export function readConfig(sources: ConfigSources): ConfigReading {
  const problems: string[] = [];
  const notes: string[] = [];
  const environment = usable(sources.environment, problems, notes);
  const config: Partial<Record<Setting, unknown>> = {};
  const origins: Partial<Record<Setting, Origin>> = {};
  const givenFrom: Partial<Record<Setting, string>> = {};
  for (const setting of SETTINGS) {
    const given = findText(setting, sources, environment, problems) ?? findStandard(setting, sources, notes);
    origins[setting] = given?.origin ?? 'default';
    givenFrom[setting] = given?.source ?? 'default';
    const text = given?.text ?? VARIABLES[setting].fallback;
    if (text === null) config[setting] = null;
    else {
      const parsed = VARIABLES[setting].kind.parse(text);
      if ('value' in parsed) config[setting] = parsed.value;
      else
        problems.push(
          `${given?.from ?? VARIABLES[setting].name} ${parsed.problem}${gotOf(setting, parsed.item ?? text)}.`,
        );
    }
  }
  if (config.otlpEndpoint != null && isTelemetryOff(sources.environment)) {
    config.otlpEndpoint = null;
    notes.push('Nothing is sent to a collector: OTEL_SDK_DISABLED is true.');
  }
  // The headers may hold the token of another collector: the one that OTEL_EXPORTER_OTLP_ENDPOINT names.
  if (origins.otlpHeaders === 'standard' && origins.otlpEndpoint !== 'standard') {
    config.otlpHeaders = null;
    origins.otlpHeaders = givenFrom.otlpHeaders = 'default';
    const reason = 'it belongs to OTEL_EXPORTER_OTLP_ENDPOINT, and KEYSTILE_OTLP_ENDPOINT names the collector';
    const note = `OTEL_EXPORTER_OTLP_HEADERS is ignored: ${reason}. If that collector needs headers, set KEYSTILE_OTLP_HEADERS.`;
    if (config.otlpEndpoint != null) notes.push(namedAsGiven(note, origins));
  }
  const contradicting = contradictions({ ...config, origins } as Partial<Config>);
  problems.push(...contradicting.map((problem) => namedAsGiven(problem, origins)));
  const found = problems.length === 0 ? ({ ...config, origins } as Config) : null;
  return { config: found, problems, notes, sources: givenFrom as Record<Setting, string> };
}

/** Where a variable was set. */
function placeOf(name: string, { envFile }: ConfigSources): string {
  return envFile?.names.has(name) === true ? envFile.path : 'environment';
}

/** Replaces the variable of each setting that was given as a flag by that flag. */
export function namedAsGiven(problem: string, origins: Partial<Record<Setting, Origin>>): string {
  return problem.replaceAll(/KEYSTILE_[A-Z_]+/g, (name) => {
    const setting = SETTINGS.find((each) => VARIABLES[each].name === name);
    return setting !== undefined && origins[setting] === 'flag' ? flagName(setting) : name;
  });
}

/** Shows what was given, unless it is a secret. */
function gotOf(setting: Setting, text: string): string {
  return 'isSecret' in VARIABLES[setting] || text === '' ? '' : `, got ${repeatable(text)}`;
}

/** Reports unknown names. Ignores removed settings, and the variables that Kubernetes sets for a Service called keystile. */
function usable(
  environment: ConfigSources['environment'],
  problems: string[],
  notes: string[],
): Readonly<Record<string, string>> {
  const known = SETTINGS.flatMap((setting) => {
    const { name } = VARIABLES[setting];
    return 'isSecret' in VARIABLES[setting] ? [name, `${name}_FILE`] : [name];
  });
  notes.push(...removedIn(environment));
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (!name.startsWith('KEYSTILE_') || value === undefined) continue;
    if (REMOVED.has(name)) continue;
    if (/^KEYSTILE_(SERVICE|PORT)_/.test(name) || value.startsWith('tcp://')) {
      notes.push(`${name} is ignored: Kubernetes sets such names for a Service.`);
    } else if (known.includes(name)) kept[name] = value;
    else {
      const near = nearestName(name, known);
      problems.push(
        `Unknown setting ${name}. ${near === null ? 'docs/configuration.md lists them all.' : `Did you mean ${near}?`}`,
      );
    }
  }
  return kept;
}

function findText(
  setting: Setting,
  sources: ConfigSources,
  environment: Readonly<Record<string, string>>,
  problems: string[],
): Given | null {
  const flag = sources.flags[setting];
  const name = VARIABLES[setting].name;
  if (flag !== undefined) return { text: flag, from: flagName(setting), origin: 'flag', source: flagName(setting) };
  const direct = environment[name];
  const path = environment[`${name}_FILE`];
  if (path === undefined)
    return direct === undefined
      ? null
      : { text: direct, from: name, origin: 'environment', source: placeOf(name, sources) };
  if (direct !== undefined) {
    problems.push(`${name} and ${name}_FILE are both set. Set only one of them.`);
    return null;
  }
  try {
    const text = sources.readFile(path).trim();
    return {
      text,
      from: `${name}_FILE`,
      origin: 'file',
      source: `${path} (${name}_FILE, ${placeOf(`${name}_FILE`, sources)})`,
    };
  } catch (error) {
    problems.push(unreadable(name, path, (error as { code?: string }).code ?? 'it cannot be opened'));
    return null;
  }
}

/** A text that does not look like a path may be the secret itself, so it is not repeated. */
function unreadable(name: string, path: string, reason: string): string {
  if (/^\.{0,2}\/[^\n]*[^=\n]$/.test(path)) return `The file ${path} of ${name}_FILE cannot be read (${reason}).`;
  return `${name}_FILE must name a file, but no file with this name can be read (${reason}). To give the value itself, set ${name}.`;
}

/**
 * The variable that other programs read too. Empty means not set, as for them. A wrong value may be right for another program, so it is
 * ignored with a note.
 */
function findStandard(setting: Setting, sources: ConfigSources, notes: string[]): Given | null {
  const { standard: name, kind }: Variable<unknown, string | null> = VARIABLES[setting];
  const given = name === undefined ? '' : (sources.environment[name] ?? '');
  if (name === undefined || given === '') return null;
  const parsed = kind.parse(given);
  if ('value' in parsed)
    return { text: given, from: name, origin: 'standard', source: `${name}, ${placeOf(name, sources)}` };
  notes.push(
    `${name} is ignored: it ${parsed.problem}${gotOf(setting, parsed.item ?? given)}. Set ${VARIABLES[setting].name} instead.`,
  );
  return null;
}

/** The switch that turns OpenTelemetry off in every program that uses it. */
function isTelemetryOff(environment: ConfigSources['environment']): boolean {
  return environment['OTEL_SDK_DISABLED']?.trim().toLowerCase() === 'true';
}

/** Problems of settings that are valid by themselves but contradict each other. Settings with a problem of their own are absent here. */
function contradictions(config: Partial<Config>): string[] {
  const found: string[] = [];
  if (config.rootKey != null && (config.rootKey.length < MIN_ROOT_KEY_LENGTH || !isSecretShaped(config.rootKey))) {
    found.push(`KEYSTILE_ROOT_KEY must have at least ${MIN_ROOT_KEY_LENGTH} characters, all of them printable ASCII.`);
  }
  if (config.metricsToken === null && config.metricsHost !== undefined && !isLoopback(config.metricsHost)) {
    found.push(
      'KEYSTILE_METRICS_HOST is not a loopback address. Set KEYSTILE_METRICS_TOKEN too, so that not everyone can read the metrics.',
    );
  }
  found.push(...backupContradictions(config));
  if (
    config.tlsCert !== undefined &&
    config.tlsKey !== undefined &&
    (config.tlsCert === null) !== (config.tlsKey === null)
  ) {
    const [given, missing] = config.tlsKey === null ? ['CERT', 'KEY'] : ['KEY', 'CERT'];
    found.push(`KEYSTILE_TLS_${given} is set without KEYSTILE_TLS_${missing}. Set both or neither.`);
  }
  return found;
}

function backupContradictions({ backupFolder, databaseUrl, origins }: Partial<Config>): string[] {
  if (backupFolder !== null) {
    return databaseUrl == null || backupFolder === undefined
      ? []
      : [
          'KEYSTILE_BACKUP_FOLDER is for the embedded database, and KEYSTILE_DATABASE_URL is set. Remove one of them; docs/backup.md shows how to back up PostgreSQL.',
        ];
  }
  return (['backupEvery', 'backupKeep'] as const)
    .filter((setting) => origins !== undefined && origins[setting] !== 'default')
    .map(
      (setting) =>
        `${VARIABLES[setting].name} needs KEYSTILE_BACKUP_FOLDER. Set it too, or remove ${VARIABLES[setting].name}.`,
    );
}
