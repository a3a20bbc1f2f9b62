import { useState } from 'preact/hooks';

import type { ExplainedCheck, Verdict } from '../../sdk/src/generated/api.ts';
import { keystile, may } from '../client.ts';
import { Form, numberOf, textOf, TextField } from '../ui/form.tsx';
import { Ago, Badge, Count } from '../ui/show.tsx';

export function TryIt() {
  const [verdict, setVerdict] = useState<Verdict | null>(null);
  const mayExplain = may('api.read_key');
  return (
    <>
      <h1>Try it</h1>
      <p>
        Paste a key and see its verdict{mayExplain && ', check by check'}. With a cost of 0,{' '}
        {mayExplain ? 'nothing is spent' : 'no credits are taken'}.
      </p>
      <Form
        button="Verify"
        onSend={async (data) => {
          const permission = textOf(data, 'permission');
          const tags = (textOf(data, 'tags') ?? '').split(',').flatMap((tag) => tag.trim() || []);
          const request = {
            key: textOf(data, 'key') ?? '',
            remaining: { cost: numberOf(data, 'cost') ?? 1 },
            ...(mayExplain ? { explain: true } : {}),
            ...(permission === undefined ? {} : { authorization: { permissions: permission } }),
            ...(tags.length === 0 ? {} : { tags }),
          };
          setVerdict(await keystile.keys.verify(request));
        }}
      >
        <TextField label="Key" name="key" required autoComplete="off" />
        <TextField label="Cost" name="cost" type="number" min={0} defaultValue="0" />
        <TextField
          label="Permission"
          name="permission"
          hint="One that the key must have, for example documents.read."
        />
        <TextField label="Tags" name="tags" hint="Separated by commas. Analytics are grouped by them." />
      </Form>
      {verdict !== null && <Answer verdict={verdict} />}
    </>
  );
}

function Answer({ verdict }: { readonly verdict: Verdict }) {
  const checks = verdict.explanation;
  return (
    <section aria-live="polite" aria-label="Verdict">
      <h2>
        Verdict <Badge kind={verdict.valid ? 'good' : 'bad'}>{verdict.code}</Badge>
      </h2>
      {checks !== undefined && (
        <ol class="checks">
          {checks.map((check) => (
            <Check key={check.check} {...check} />
          ))}
        </ol>
      )}
      <details>
        <summary>The answer of the service</summary>
        <pre>{JSON.stringify(verdict, null, 2)}</pre>
      </details>
    </section>
  );
}

const SIGNS = { passed: '✓', refused: '✕', 'not reached': '–' } as const;

function Check({ check, result, text, counters = [] }: ExplainedCheck) {
  return (
    <li class={`check ${result.replace(' ', '-')}`}>
      <span class="sign" aria-hidden="true">
        {SIGNS[result]}
      </span>
      <div>
        <strong>{check}</strong> <span class="result">{result}</span>
        <p>{text}</p>
        {counters.map(({ name, of, taken, remaining, reset }) => (
          <p key={`${of} ${name}`} class="counter">
            {name} of the {of === 'identity' ? 'customer' : 'key'}: <Count of={taken} /> taken
            {remaining !== undefined && (
              <>
                , <Count of={remaining} /> left
              </>
            )}
            {reset !== undefined && (
              <>
                , starts again <Ago at={reset} />
              </>
            )}
          </p>
        ))}
      </div>
    </li>
  );
}
