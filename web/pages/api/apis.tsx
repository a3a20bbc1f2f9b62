import type { Api } from '../../../sdk/src/generated/api.ts';
import { keystile, may } from '../../client.ts';
import { listApis } from '../../paged.ts';
import { hrefOf } from '../../router.ts';
import { DialogButton, Form, textOf, TextField } from '../../ui/form.tsx';
import { Copyable } from '../../ui/show.tsx';
import { PagedTable } from '../../ui/table.tsx';
import { useState } from 'preact/hooks';
import { from } from '../pageOf.ts';

export function Apis() {
  const [changes, setChanges] = useState(0);
  return (
    <>
      <div class="row">
        <h1>Apis</h1>
        {may('api.create_api') && (
          <DialogButton label="Create an api" title="Create an api" kind="primary">
            {(close) => (
              <Form
                button="Create"
                onSend={async (data) => {
                  await keystile.apis.create({ name: textOf(data, 'name') ?? '' });
                  close();
                  setChanges(changes + 1);
                }}
              >
                <TextField
                  label="Name"
                  name="name"
                  required
                  hint="An api is a group of keys for one of your services."
                />
              </Form>
            )}
          </DialogButton>
        )}
      </div>
      <PagedTable<Api>
        caption="Apis"
        on={[changes]}
        keyOf={({ id }) => id}
        empty="There are no apis yet. Create one first: every key belongs to an api."
        load={async (cursor) => {
          const { apis, ...page } = await listApis(from(cursor));
          return { rows: apis, ...page };
        }}
        columns={[
          {
            title: 'Name',
            cell: ({ id, name }) => (
              <a href={hrefOf(`/apis/${id}`)}>
                <bdi>{name}</bdi>
              </a>
            ),
          },
          { title: 'Id', cell: ({ id }) => <Copyable label="the id" text={id} /> },
          { title: 'Keys', cell: ({ id }) => <a href={hrefOf(`/keys?api=${id}`)}>Show its keys</a> },
        ]}
      />
    </>
  );
}
