import { namedAsGiven } from '../../config/read.ts';
import type { Config } from '../../config/variables.ts';
import type { Outcome } from '../../doctor/check.ts';
import { examine } from '../../doctor/examine.ts';
import { FACT_NAMES, type FactName, type Facts, type GatheredFacts, noneKnown } from '../../doctor/facts.ts';
import { DATABASE_FACTS, gatherEmbedded } from './embeddedFacts.ts';
import { readCertificate, readMetricsPort, readOpenFiles, readPort } from './machineFacts.ts';
import { findRunning, type Running } from './running.ts';
import { gatherShared } from './sharedFacts.ts';

type ValidConfiguration = Pick<Facts, 'config' | 'removedSettings'>;

/** The configuration, or what is wrong with it. */
export type ReadConfiguration = ValidConfiguration | Pick<Facts, 'settingProblems'>;

/** Makes every check, from outside and, where a service runs, with what it finds about itself. */
export async function examineAll(configuration: ReadConfiguration): Promise<readonly Outcome[]> {
  if ('settingProblems' in configuration) return examine(withoutConfiguration(configuration.settingProblems));
  const { config } = configuration;
  const running = await findRunning(config);
  const gathered = running.isElsewhere === true ? ofElsewhere(running) : await gatherAll(configuration, running);
  const outcomes = examine(gathered).map((outcome) => named(outcome, config));
  return withOwn(outcomes, running.outcomes);
}

/** A setting that was given as a flag is named by the flag, but not in a command, which is run without it. */
function named(outcome: Outcome, { origins }: Config): Outcome {
  if (!('text' in outcome)) return outcome;
  return { ...outcome, text: namedAsGiven(outcome.text, origins), fix: namedAsGiven(outcome.fix, origins) };
}

/** What this shell and this machine say is about another service. */
function ofElsewhere({ readiness, unasked }: Running): GatheredFacts {
  return { ...noneKnown(FACT_NAMES, unasked.because), settingProblems: [], removedSettings: [], readiness };
}

async function gatherAll({ config, removedSettings }: ValidConfiguration, running: Running): Promise<GatheredFacts> {
  const { databaseUrl } = config;
  const parts = await Promise.all([
    orNoneKnown(['port'], async () => ({ port: await readPort(config, running) })),
    orNoneKnown(['metricsPort'], async () => ({ metricsPort: await readMetricsPort(config, running) })),
    orNoneKnown(['openFiles'], async () => ({ openFiles: readOpenFiles(config, running) })),
    orNoneKnown(['certificate'], async () => ({ certificate: readCertificate(config) })),
    orNoneKnown(DATABASE_FACTS, () =>
      databaseUrl === null ? gatherEmbedded(config, running) : gatherShared(config, databaseUrl),
    ),
  ]);
  const [port, metricsPort, openFiles, certificate, ofDatabase] = parts;
  const { readiness, unasked } = running;
  const hasDefaultPlan = config.defaultPlan === null ? true : unasked;
  const ofRunning = { readiness, waiting: unasked, otherTags: unasked, hasDefaultPlan };
  return {
    config,
    settingProblems: [],
    removedSettings,
    ...ofRunning,
    ...port,
    ...metricsPort,
    ...openFiles,
    ...certificate,
    ...ofDatabase,
  };
}

/** A failure to read some facts hides no others. */
async function orNoneKnown<N extends FactName>(
  names: readonly N[],
  read: () => Promise<Pick<GatheredFacts, N>>,
): Promise<Pick<GatheredFacts, N>> {
  try {
    return await read();
  } catch (error) {
    const because = `it cannot be read: ${error instanceof Error ? error.message : String(error)}`;
    // The compiler gives up on so many names.
    return noneKnown(names, because) as object as Pick<GatheredFacts, N>;
  }
}

function withoutConfiguration(settingProblems: readonly string[]): GatheredFacts {
  return { ...noneKnown(FACT_NAMES, 'the configuration is wrong'), settingProblems, removedSettings: [] };
}

/** What the running service finds counts: it knows its own settings, which this shell may not have. */
function withOwn(outcomes: readonly Outcome[], own: readonly Outcome[]): readonly Outcome[] {
  const ownByName = new Map(own.map((each) => [each.name, each]));
  const known = new Set(outcomes.map(({ name }) => name));
  // A service of another version may know further checks.
  return [...outcomes.map((each) => ownByName.get(each.name) ?? each), ...own.filter(({ name }) => !known.has(name))];
}
