import { useState } from 'preact/hooks';

import { DialogButton, Form } from './form.tsx';

interface Toggle {
  readonly isOn: boolean;
  /** "key" or "customer". */
  readonly what: string;
  /** What happens then. */
  readonly explains: { readonly on: string; readonly off: string };
  readonly onToggle: (isOn: boolean) => Promise<void>;
}

/** Enables or disables a record. */
export function ToggleButton(toggle: Toggle) {
  return (
    <DialogButton label={toggle.isOn ? 'Disable' : 'Enable'} title={`Enable or disable the ${toggle.what}`}>
      {(close) => <ToggleForm {...toggle} close={close} />}
    </DialogButton>
  );
}

/** It does what it said when it was opened, also when somebody else changes the record meanwhile. */
function ToggleForm({ isOn, what, explains, onToggle, close }: Toggle & { readonly close: () => void }) {
  const [wanted] = useState(!isOn);
  return (
    <Form
      button={`${wanted ? 'Enable' : 'Disable'} the ${what}`}
      onSend={async () => {
        await onToggle(wanted);
        close();
      }}
    >
      {isOn === wanted && <p class="notice">Someone else has already done this.</p>}
      <p>{wanted ? explains.on : explains.off}</p>
    </Form>
  );
}
