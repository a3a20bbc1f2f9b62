import { useState } from 'preact/hooks';

import type { Check, Setting } from '../../sdk/src/generated/api.ts';
import { keystile } from '../client.ts';
import { Badge, Documented, Showing } from '../ui/show.tsx';
import { Table } from '../ui/table.tsx';
import { useLoaded } from '../ui/useLoaded.ts';
import { Problems } from './problems.tsx';

const SOURCES = { default: 'default', environment: 'environment', file: 'file', flag: 'command line' } as const;

/** The settings in effect, and everything that the service checks about itself. */
export function Settings() {
  const status = useLoaded(() => keystile.service.getStatus({}), [], 10_000);
  return (
    <>
      <h1>Settings</h1>
      <Showing loaded={status}>
        {({ version, problems, checks, configuration }) => (
          <>
            <p>
              Keystile {version}. Settings are environment variables of the process. Change them where it is started,
              then restart it. <a href="/docs/guides/configuration">See what each does</a>.
            </p>
            <Checks problems={problems} checks={checks} />
            <Configuration settings={configuration} />
          </>
        )}
      </Showing>
    </>
  );
}

function Checks({
  problems,
  checks,
}: {
  readonly problems: Parameters<typeof Problems>[0]['of'];
  readonly checks: readonly Check[];
}) {
  return (
    <section aria-labelledby="checks">
      <h2 id="checks">Checks</h2>
      <Problems of={problems} />
      <Table<Check>
        caption="All checks"
        rows={checks}
        keyOf={({ name }) => name}
        columns={[
          { title: 'Check', isWord: true, cell: ({ name }) => <code>{name}</code> },
          {
            title: 'State',
            cell: ({ name, isOk }) => {
              if (isOk) return <Badge kind="good">OK</Badge>;
              const isAdvice = problems.some((each) => each.name === name && each.severity === 'advice');
              return <Badge kind={isAdvice ? 'plain' : 'bad'}>{isAdvice ? 'Advice' : 'Problem'}</Badge>;
            },
          },
          { title: 'What it makes sure of', cell: ({ text }) => text },
        ]}
      />
    </section>
  );
}

function Configuration({ settings }: { readonly settings: readonly Setting[] }) {
  const [isShort, setShort] = useState(false);
  const shown = isShort ? settings.filter(({ source }) => source !== 'default') : settings;
  return (
    <section aria-labelledby="configuration">
      <div class="row">
        <h2 id="configuration">Configuration of this node</h2>
        <div class="choices" role="group" aria-label="Which settings">
          <button type="button" aria-pressed={!isShort} onClick={() => setShort(false)}>
            All
          </button>
          <button type="button" aria-pressed={isShort} onClick={() => setShort(true)}>
            Changed
          </button>
        </div>
      </div>
      <Table<Setting>
        caption="Configuration"
        rows={shown}
        keyOf={({ name }) => name}
        columns={[
          { title: 'Setting', isWord: true, cell: ({ name }) => <code>{name}</code> },
          { title: 'Value', cell: ({ value }) => <bdi>{value}</bdi> },
          { title: 'From', isWord: true, cell: ({ source }) => SOURCES[source] },
          { title: 'Meaning', cell: ({ text }) => <Documented text={text} /> },
        ]}
      />
    </section>
  );
}
