import { useState } from 'preact/hooks';

import type { Api } from '../../../sdk/src/generated/api.ts';
import { ACTION_OPERATIONS, PORTAL_ACTIONS, type PortalAction } from '../../../src/core/portalSession.ts';
import { mayNameOwner } from '../../../src/core/rights.ts';
import { keystile, may, session } from '../../client.ts';
import { CheckList } from '../../ui/edit/checkList.tsx';
import { DialogButton, Form } from '../../ui/form.tsx';
import { Select } from '../../ui/select.tsx';
import { Copyable, Empty, Showing } from '../../ui/show.tsx';
import { useApis } from '../useApis.ts';

/** Makes a link to the portal. */
export function PortalLink({ identityId }: { readonly identityId: string }) {
  return (
    <DialogButton label="Customer's page" title="A link to the portal for this customer">
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
        <p>
          The first person to open it within 15 minutes can use the portal for an hour. Send it only to this customer.
        </p>
        <Copyable text={link} label="the link" />
      </div>
    );
  return (
    <Showing loaded={apis}>
      {(known) => {
        const readable = known.filter(({ id }) => may('api.read_key', id));
        return readable.length === 0 ? (
          <Empty>The portal shows the keys of an api. There is no api whose keys your root key may read.</Empty>
        ) : (
          <Fields apis={readable} identityId={identityId} onMade={setLink} />
        );
      }}
    </Showing>
  );
}

/** The link can allow what this root key may do itself. */
function mayAllow(action: PortalAction, apiId: string, identityId: string): boolean {
  if (!ACTION_OPERATIONS[action].every((operation) => may(operation, apiId))) return false;
  return action !== 'create' || mayNameOwner(session.value?.permissions ?? [], 'api.create_key', identityId);
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
  const [apiId, setApiId] = useState(apis[0]?.id ?? '');
  const [chosen, setChosen] = useState<readonly PortalAction[]>([]);
  const offered = PORTAL_ACTIONS.filter((action) => mayAllow(action, apiId, identityId));
  // What was chosen for one api may not be allowed in another.
  const allow = offered.filter((action) => chosen.includes(action));
  return (
    <Form
      button="Make the link"
      onSend={async () => {
        const { url } = await keystile.portal.createSession({ identityId, apiId, allow });
        onMade(url);
      }}
    >
      <Select label="Api" value={apiId} options={apis.map(({ id, name }) => [id, name])} onChoose={setApiId} />
      <fieldset>
        <legend>What the customer may do with its keys</legend>
        <CheckList options={offered} chosen={allow} onChoose={(now) => setChosen(now as readonly PortalAction[])} />
      </fieldset>
    </Form>
  );
}
