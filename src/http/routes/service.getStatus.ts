import { Type } from 'typebox';

import type { ServiceStatus } from '../../engine/admin/status.ts';
import { component, field, listOf, optional } from '../../model/schema/described.ts';
import { EXAMPLE } from '../../model/schema/examples.ts';
import { Flag, strict, Text, Whole } from '../../model/schema/schemas.ts';
import { defineRoute } from './route.ts';

const Milliseconds = Type.Number();

const NODE_EXAMPLE = {
  id: 'node_1Jm8ZtXg3kPp5FhJ9sQw2R',
  location: 'eu-west',
  version: '0.1.0',
  startedAt: EXAMPLE.midnight,
  lastSeenAt: EXAMPLE.midnight + 3_600_000,
  isSelf: true,
  isGone: false,
  freshnessAgeMs: 12,
  syncLagMs: 180,
  clockOffsetMs: 3,
};

const NodeObject = component(
  'Node',
  strict({
    id: field(Text, 'The id of the node. Every start has a new one.', NODE_EXAMPLE.id),
    location: field(Text, 'Where it runs: `KEYSTILE_LOCATION`, or the name of its machine.', NODE_EXAMPLE.location),
    version: field(Text, 'The version that it runs.', NODE_EXAMPLE.version),
    startedAt: field(Whole, 'When it started, in unix milliseconds.', NODE_EXAMPLE.startedAt),
    lastSeenAt: field(
      Whole,
      'When it last told the others that it runs, in unix milliseconds.',
      NODE_EXAMPLE.lastSeenAt,
    ),
    isSelf: field(Flag, 'true: this node gave the answer.', true),
    isGone: field(Flag, 'true: it was not seen for ten seconds, and it was not stopped.', false),
    freshnessAgeMs: optional(
      Whole,
      'How old its knowledge of changes by other nodes is, in milliseconds. Absent with the embedded database.',
      NODE_EXAMPLE.freshnessAgeMs,
    ),
    syncLagMs: optional(
      Whole,
      'How long ago it exchanged the counts of local limits, in milliseconds. Absent when it never did.',
      NODE_EXAMPLE.syncLagMs,
    ),
    clockOffsetMs: field(Whole, "The database's clock minus its own, in milliseconds.", NODE_EXAMPLE.clockOffsetMs),
  }),
  'A process that serves this installation.',
  NODE_EXAMPLE,
);

const WORK_EXAMPLE = {
  since: EXAMPLE.midnight,
  verifications: 52_000,
  latency: { p50: 0.21, p90: 0.48, p99: 2.1 },
  spends: 18_000,
  batches: 2_400,
};

const percentile = (part: string, example: number) =>
  field(Milliseconds, `${part} verifications took at most this many milliseconds.`, example);

const WorkObject = component(
  'Work',
  strict({
    since: field(
      Whole,
      'When counting began, in unix milliseconds: at the start of the node, or about a minute ago for a caller that asks again.',
      WORK_EXAMPLE.since,
    ),
    verifications: field(Whole, 'How many keys were verified.', WORK_EXAMPLE.verifications),
    latency: optional(
      strict({
        p50: percentile('One in two', WORK_EXAMPLE.latency.p50),
        p90: percentile('Nine in ten', WORK_EXAMPLE.latency.p90),
        p99: percentile('Ninety-nine in a hundred', WORK_EXAMPLE.latency.p99),
      }),
      'The time from a request to its verdict. Absent when there were no verifications.',
      WORK_EXAMPLE.latency,
    ),
    spends: field(Whole, 'How many spends and changes were committed.', WORK_EXAMPLE.spends),
    batches: field(Whole, 'In how many commits they were written.', WORK_EXAMPLE.batches),
  }),
  'What the answering node did lately.',
  WORK_EXAMPLE,
);

const PROBLEM_EXAMPLE = {
  name: 'clocks',
  severity: 'advice',
  text: 'The clock differs from that of the database: eu-west (2400 ms behind).',
  fix: 'Let NTP set the clocks of the nodes and of the database.',
  command: 'sudo timedatectl set-ntp true',
};

const ProblemObject = component(
  'Problem',
  strict({
    name: field(Text, 'The check that found it.', PROBLEM_EXAMPLE.name),
    severity: field(
      Type.Enum(['problem', 'advice']),
      '`problem`: something fails or is about to. `advice`: something could be better.',
      PROBLEM_EXAMPLE.severity,
    ),
    text: field(Text, 'What is wrong.', PROBLEM_EXAMPLE.text),
    fix: field(Text, 'What to do.', PROBLEM_EXAMPLE.fix),
    command: field(Text, 'A shell command that does it, or helps to do it.', PROBLEM_EXAMPLE.command),
  }),
  'Something that is wrong with the service, and what to do.',
  PROBLEM_EXAMPLE,
);

const CHECK_EXAMPLE = {
  name: 'clocks',
  text: 'The clock of every node agrees with that of the database.',
  isOk: false,
};

const CheckObject = component(
  'Check',
  strict({
    name: field(Text, 'The name of the check.', CHECK_EXAMPLE.name),
    text: field(Text, 'What it makes sure of.', CHECK_EXAMPLE.text),
    isOk: field(Flag, 'true: nothing was found.', CHECK_EXAMPLE.isOk),
  }),
  'Something that the service looks at.',
  CHECK_EXAMPLE,
);

const SETTING_EXAMPLE = {
  name: 'KEYSTILE_STALE_MAX',
  value: '1s',
  source: 'default',
  text: 'How long a node may use cached keys without news from a shared database.',
};

const SettingObject = component(
  'Setting',
  strict({
    name: field(Text, 'The name of the variable.', SETTING_EXAMPLE.name),
    value: field(Text, 'The value in effect. Of a secret only `set` or `not set`.', SETTING_EXAMPLE.value),
    source: field(
      Type.Enum(['default', 'environment', 'file', 'flag']),
      'Where the value comes from. `environment`: a variable, also of the file that `--env-file` names. `file`: the file that `NAME_FILE` names. `flag`: the command line.',
      SETTING_EXAMPLE.source,
    ),
    text: field(Text, 'What the setting means.', SETTING_EXAMPLE.text),
  }),
  'A setting in effect on the answering node.',
  SETTING_EXAMPLE,
);

const STATUS_EXAMPLE = {
  time: EXAMPLE.midnight + 3_600_000,
  version: '0.1.0',
  nodes: [NODE_EXAMPLE],
  work: WORK_EXAMPLE,
  problems: [PROBLEM_EXAMPLE],
  checks: [CHECK_EXAMPLE],
  configuration: [SETTING_EXAMPLE],
};

const StatusObject = strict({
  time: field(Whole, 'The time of the service, in unix milliseconds.', STATUS_EXAMPLE.time),
  version: field(Text, 'The version of the answering node.', STATUS_EXAMPLE.version),
  nodes: listOf(NodeObject, 'All nodes on this database, sorted by location. The embedded database has one.'),
  work: WorkObject,
  problems: listOf(ProblemObject, 'What the checks found, the most severe first. `[]` when all is well.'),
  checks: listOf(CheckObject, 'Everything that was looked at.'),
  configuration: listOf(SettingObject, 'The settings in effect on the answering node.'),
});

function toStatusObject({ nowMs, version, nodes, work, problems, checks, settings }: ServiceStatus) {
  const { sinceMs, latency, ...counts } = work;
  return {
    time: nowMs,
    version,
    nodes: nodes.map(({ startedAtMs, seenAtMs, freshnessAgeMs, syncLagMs, ...node }) => ({
      ...node,
      startedAt: startedAtMs,
      lastSeenAt: seenAtMs,
      ...(freshnessAgeMs === null ? {} : { freshnessAgeMs }),
      ...(syncLagMs === null ? {} : { syncLagMs }),
    })),
    work: { since: sinceMs, ...counts, ...(latency === null ? {} : { latency }) },
    problems,
    checks: checks.map(({ name, meaning, isOk }) => ({ name, text: meaning, isOk })),
    configuration: settings.map(({ name, value, origin, meaning }) => ({ name, value, source: origin, text: meaning })),
  };
}

export const getStatus = defineRoute({
  path: '/v1/service.getStatus',
  method: 'GET',
  summary:
    'Read how the service is doing: its nodes, how fast this one answers, what is wrong and what to do, and its settings.',
  description:
    'Secrets are never shown. The answer is at most a second old. `work`, `checks` and `configuration` are those of the node that answers.',
  rights: ['service.*.read_status'],
  command: { name: 'service status' },
  request: strict({}),
  response: StatusObject,
  example: { request: {}, response: STATUS_EXAMPLE },
  errors: [],
  async handle(engine, actor) {
    return toStatusObject(await engine.status.read(actor));
  },
});
