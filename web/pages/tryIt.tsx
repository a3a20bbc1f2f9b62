import { useState } from 'preact/hooks';

import { keystile } from '../client.ts';
import { Form, numberOf, textOf, TextField } from '../ui/form.tsx';

export function TryIt() {
  const [verdict, setVerdict] = useState<object | null>(null);
  return (
    <>
      <h1>Try it</h1>
      <p>Paste a key and see its verdict. With a cost of 0, no credits are taken.</p>
      <Form
        button="Verify"
        onSend={async (data) => {
          const cost = numberOf(data, 'cost') ?? 1;
          const permission = textOf(data, 'permission');
          setVerdict(
            await keystile.keys.verify({
              key: textOf(data, 'key') ?? '',
              remaining: { cost },
              ...(permission === undefined ? {} : { authorization: { permissions: permission } }),
            }),
          );
        }}
      >
        <TextField label="Key" name="key" required autoComplete="off" />
        <TextField label="Cost" name="cost" type="number" min={0} defaultValue="0" />
        <TextField label="Permission" name="permission" />
      </Form>
      {verdict !== null && (
        <section aria-live="polite" aria-label="Verdict">
          <h2>Verdict</h2>
          <pre>{JSON.stringify(verdict, null, 2)}</pre>
        </section>
      )}
    </>
  );
}
