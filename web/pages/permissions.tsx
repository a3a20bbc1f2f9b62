import type { ComponentType } from 'preact';

import type { PermissionsGetRoleAnswer } from '../../sdk/src/generated/api.ts';
import type { Operation } from '../../src/core/rights.ts';
import { allOf } from '../allOf.ts';
import { keystile, may } from '../client.ts';
import { DeleteButton, DialogButton } from '../ui/form.tsx';
import { CreateForm } from '../ui/edit/createForm.tsx';
import { EditForm } from '../ui/edit/editForm.tsx';
import { lineField, linesField } from '../ui/edit/fields.tsx';
import { Copyable, Empty, Showing } from '../ui/show.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { useLoaded } from '../ui/useLoaded.ts';

/** Roles and permissions are created, listed and deleted in the same way. */
interface Kind {
  readonly title: string;
  readonly one: string;
  readonly hint: string;
  readonly rights: { readonly read: Operation; readonly create: Operation; readonly remove: Operation };
  readonly list: () => Promise<readonly Named[]>;
  readonly create: (fields: { name: string; description?: string }) => Promise<unknown>;
  readonly remove: (id: string) => Promise<unknown>;
  /** What else can be done with one. */
  readonly edit?: ComponentType<{ id: string }>;
}

interface Named {
  readonly id: string;
  readonly name: string;
  readonly description?: string | undefined;
}

const KINDS: readonly Kind[] = [
  {
    title: 'Permissions',
    one: 'permission',
    hint: 'For example documents.read. Verifications can ask for it.',
    rights: { read: 'rbac.read_permission', create: 'rbac.create_permission', remove: 'rbac.delete_permission' },
    list: () => allOf(keystile.permissions.list({})),
    create: (fields) => keystile.permissions.create(fields),
    remove: (permissionId) => keystile.permissions.delete({ permissionId }),
  },
  {
    title: 'Roles',
    one: 'role',
    hint: 'A role is a set of permissions that keys are given together.',
    rights: { read: 'rbac.read_role', create: 'rbac.create_role', remove: 'rbac.delete_role' },
    list: () => allOf(keystile.permissions.listRoles({})),
    create: (fields) => keystile.permissions.createRole(fields),
    remove: (roleId) => keystile.permissions.deleteRole({ roleId }),
    edit: EditRole,
  },
];

const ROLE_PERMISSIONS = linesField<PermissionsGetRoleAnswer>(
  { name: 'permissions', label: 'Permissions', hint: 'Names of permissions, one per line.' },
  ({ permissions }) => permissions.map(({ name }) => name),
  (name) => ({ name }),
);

function EditRole({ id: roleId }: { readonly id: string }) {
  if (!(may('rbac.add_permission_to_role') && may('rbac.remove_permission_from_role'))) return null;
  return (
    <DialogButton label="Permissions" title="The permissions of the role">
      {(close) => <RoleForm roleId={roleId} close={close} />}
    </DialogButton>
  );
}

function RoleForm({ roleId, close }: { readonly roleId: string; readonly close: () => void }) {
  const role = useLoaded(() => keystile.permissions.getRole({ roleId }), [roleId]);
  return (
    <Showing loaded={role}>
      {(value) => (
        <>
          <p>
            Keys with the role <bdi>{value.name}</bdi> get all of these immediately.
          </p>
          <EditForm
            record={value}
            read={() => keystile.permissions.getRole({ roleId })}
            fields={[ROLE_PERMISSIONS]}
            onSend={async (patch) => {
              if ('permissions' in patch)
                await keystile.permissions.setRolePermissions({
                  roleId,
                  ...(patch as { permissions: { name: string }[] }),
                });
              close();
            }}
          />
        </>
      )}
    </Showing>
  );
}

export function Permissions() {
  return (
    <>
      <h1>Permissions and roles</h1>
      {KINDS.filter(({ rights }) => may(rights.read)).map((kind) => (
        <NamedList key={kind.one} kind={kind} />
      ))}
    </>
  );
}

function NamedList({ kind }: { readonly kind: Kind }) {
  const all = useLoaded(kind.list, [kind.one]);
  const columns: readonly Column<Named>[] = [
    { title: 'Name', cell: ({ name }) => <bdi>{name}</bdi> },
    { title: 'Description', cell: ({ description }) => <bdi>{description ?? ''}</bdi> },
    { title: 'Id', cell: ({ id }) => <Copyable label="the id" text={id} /> },
    {
      title: 'Change',
      cell: ({ id, name }) => (
        <div class="actions">
          {kind.edit !== undefined && <kind.edit id={id} />}
          {may(kind.rights.remove) && (
            <DeleteButton
              label="Delete"
              name={name}
              explains={`Keys that have this ${kind.one} lose it immediately.`}
              onDelete={async () => {
                await kind.remove(id);
                all.reload();
              }}
            />
          )}
        </div>
      ),
    },
  ];
  return (
    <section aria-labelledby={`all-${kind.one}`}>
      <div class="row">
        <h2 id={`all-${kind.one}`}>{kind.title}</h2>
        {may(kind.rights.create) && (
          <DialogButton label={`Create a ${kind.one}`} title={`Create a ${kind.one}`} kind="primary">
            {(close) => (
              <CreateForm<Partial<Named>>
                empty={{}}
                fields={[
                  lineField({ name: 'name', label: 'Name', hint: kind.hint, required: true }, ({ name }) => name),
                  lineField({ name: 'description', label: 'Description' }, ({ description }) => description),
                ]}
                onSend={async (given) => {
                  await kind.create(given as { name: string; description?: string });
                  close();
                  all.reload();
                }}
              />
            )}
          </DialogButton>
        )}
      </div>
      <Showing loaded={all}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty>There are no {kind.one}s yet.</Empty>
          ) : (
            <Table caption={`Table of ${kind.one}s`} columns={columns} rows={rows} keyOf={({ id }) => id} />
          )
        }
      </Showing>
    </section>
  );
}
