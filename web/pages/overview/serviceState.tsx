import type { Node, Work } from '../../../sdk/src/generated/api.ts';
import { fetchAsPage, keystile, may } from '../../client.ts';
import { about, Ago, Badge, Count, Facts, milliseconds, Showing } from '../../ui/show.tsx';
import { Table } from '../../ui/table.tsx';
import { useLoaded } from '../../ui/useLoaded.ts';
import { Problems } from '../problems.tsx';

/** How the service is doing: problems first. Who may not read its status sees whether it is ready. */
export function ServiceState() {
  return may('service.read_status') ? <Status /> : <Readiness />;
}

function Status() {
  const status = useLoaded(() => keystile.service.getStatus({}), [], 5_000);
  return (
    <section aria-labelledby="service">
      <h2 id="service">Service</h2>
      {status.error !== null && <Readiness />}
      <Showing loaded={status}>
        {({ problems, nodes, work, time }) => (
          <>
            <Problems of={problems} />
            <WorkFacts of={work} nowMs={time} />
            <Nodes of={nodes} />
          </>
        )}
      </Showing>
    </section>
  );
}

function WorkFacts({ of: work, nowMs }: { readonly of: Work; readonly nowMs: number }) {
  const { latency, spends, batches, since } = work;
  const perBatch = batches === 0 ? 0 : spends / batches;
  return (
    <>
      <Facts
        rows={[
          ['Median', latency === undefined ? '–' : milliseconds(latency.p50)],
          ['90 % within', latency === undefined ? '–' : milliseconds(latency.p90)],
          ['99 % within', latency === undefined ? '–' : milliseconds(latency.p99)],
          ['Spends and changes', <Count of={spends} />],
          [
            'Commits',
            <>
              <Count of={batches} />
              {batches > 0 && <span class="hint">{perBatch.toFixed(1)} in each</span>}
            </>,
          ],
        ]}
      />
      <p class="hint">
        Verifications and commits of the node that answers, in the last {about(Math.max(1_000, nowMs - since))}.
      </p>
    </>
  );
}

function Nodes({ of: nodes }: { readonly of: readonly Node[] }) {
  return (
    <Table<Node>
      caption="Nodes"
      rows={nodes}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Node',
          cell: ({ id, location, isSelf }) => (
            <>
              <bdi title={id}>{location}</bdi> {isSelf && <span class="hint">answers this page</span>}
            </>
          ),
        },
        {
          title: 'State',
          cell: ({ isGone, lastSeenAt }) =>
            isGone ? (
              <>
                <Badge kind="bad">Gone</Badge> last seen <Ago at={lastSeenAt} />
              </>
            ) : (
              <Badge kind="good">Running</Badge>
            ),
        },
        { title: 'Version', isWord: true, cell: ({ version }) => version },
        { title: 'Started', cell: ({ startedAt }) => <Ago at={startedAt} /> },
        {
          title: 'Knows changes up to',
          cell: ({ freshnessAgeMs }) => (freshnessAgeMs === undefined ? 'now' : `${milliseconds(freshnessAgeMs)} ago`),
        },
        {
          title: 'Counts exchanged',
          cell: ({ syncLagMs }) => (syncLagMs === undefined ? '–' : `${milliseconds(syncLagMs)} ago`),
        },
        { title: 'Clock', cell: ({ clockOffsetMs }) => clockWords(clockOffsetMs) },
      ]}
    />
  );
}

function clockWords(offsetMs: number): string {
  if (Math.abs(offsetMs) < 100) return 'right';
  return `${milliseconds(Math.abs(offsetMs))} ${offsetMs > 0 ? 'slow' : 'fast'}`;
}

function Readiness() {
  const ready = useLoaded(
    async () => {
      const answer = await fetchAsPage('/v1/readiness').catch(() => null);
      if (answer === null) throw new Error('This node does not answer. Is it running?');
      return (await answer.json()) as { ready: boolean; reasons: string[]; warnings: string[] };
    },
    [],
    10_000,
  );
  return (
    <Showing loaded={ready}>
      {({ ready: isReady, reasons, warnings }) => (
        <p>
          <Badge kind={isReady ? 'good' : 'bad'}>{isReady ? 'Ready' : 'Not ready'}</Badge>{' '}
          {[...reasons, ...warnings].join(' ')}
        </p>
      )}
    </Showing>
  );
}
