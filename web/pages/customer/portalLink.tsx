import { useState } from 'preact/hooks';

import type { Api } from '../../../sdk/src/generated/api.ts';
import { ACTION_OPERATIONS, PORTAL_ACTIONS, type PortalAction } from '../../../src/core/portalSession.ts';
import { keystile, may } from '../../client.ts';
import { CheckList } from '../../ui/edit/checkList.tsx';
import { DialogButton, Form, SelectField, textOf } from '../../ui/form.tsx';
import { Copyable, Empty, Showing } from '../../ui/show.tsx';
import { useApis } from '../useApis.ts';

/** Makes a link to the customers' page. */
export function PortalLink({ identityId }: { readonly identityId: string }) {
  return (
    <DialogButton label="Customer's page" title="A link to the customer's own page">
      {() => <LinkForm identityId={identityId} />}
    </DialogButton>
  );
}

function LinkForm({ identityId }: { readonly identityId: string }) {
  const apis = useApis('');
  const [link, setLink] = useState<string | null>(null);
  if (link !== null)
    return (
      <div role="status">
        <p>Whoever opens it first, within 15 minutes, has the page for an hour. Send it only to this customer.</p>
        <Copyable text={link} label="the link" />
      </div>
    );
  return (
    <Showing loaded={apis}>
      {(known) =>
        known.length === 0 ? (
          <Empty>The page shows the keys of an api. There is none yet.</Empty>
        ) : (
          <Fields apis={known} identityId={identityId} onMade={setLink} />
        )
      }
    </Showing>
  );
}

function Fields({
  apis,
  identityId,
  onMade,
}: {
  readonly apis: readonly Api[];
  readonly identityId: string;
  readonly onMade: (link: string) => void;
}) {
  const [allow, setAllow] = useState<readonly PortalAction[]>([]);
  const offered = PORTAL_ACTIONS.filter((action) => ACTION_OPERATIONS[action].every((right) => may(right)));
  return (
    <Form
      button="Make the link"
      onSend={async (data) => {
        const { url } = await keystile.portal.createSession({ identityId, apiId: textOf(data, 'api') ?? '', allow });
        onMade(url);
      }}
    >
      <SelectField label="Api" name="api" options={apis.map(({ id, name }) => [id, name])} />
      <fieldset>
        <legend>What the customer may do with its keys</legend>
        <CheckList
          options={offered}
          chosen={allow}
          onChoose={(chosen) => setAllow(chosen as readonly PortalAction[])}
        />
      </fieldset>
    </Form>
  );
}
