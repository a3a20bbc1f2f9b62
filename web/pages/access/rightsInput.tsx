import { useState } from 'preact/hooks';

import { ALL_RIGHTS, coversRight, isRight, RIGHTS, type Operation, rightTo } from '../../../src/core/rights.ts';
import { session } from '../../client.ts';
import { CheckList } from '../../ui/edit/checkList.tsx';
import type { EditedField } from '../../ui/edit/editForm.tsx';
import { linesOf } from '../../ui/edit/fields.tsx';
import { Field } from '../../ui/form.tsx';

const NAME = 'permissions';

/** The rights of a new root key: chosen, or typed where they are bound to one record. */
export const RIGHTS_FIELD: EditedField<unknown> = {
  name: NAME,
  label: 'Rights',
  text: () => '',
  input: () => <RightsInput />,
  toPatch(text) {
    const rights = linesOf(text);
    const wrong = rights.find((right) => !isRight(right));
    if (wrong !== undefined)
      throw new Error(`There is no right ${wrong}. A right is resource.id.action, for example api.*.verify_key.`);
    return { [NAME]: rights };
  },
};

/** The rights on all records of one resource that the person may give: nobody gives more than they have. */
function offered(resource: keyof typeof RIGHTS): readonly string[] {
  const own = session.value?.permissions ?? [];
  return RIGHTS[resource]
    .map((action) => rightTo(`${resource}.${action}` as Operation, '*'))
    .filter((right) => coversRight(own, right));
}

function RightsInput() {
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [typed, setTyped] = useState('');
  const own = session.value?.permissions ?? [];
  const rights = [...new Set([...chosen, ...typed.split(/[\s,]+/)])].filter((each) => each !== '');
  /** The choice among these options is replaced; all others stay. */
  const choose =
    (options: readonly string[]) =>
    (among: readonly string[]): void =>
      setChosen([...chosen.filter((each) => !options.includes(each)), ...among]);
  const groups = Object.keys(RIGHTS).map((resource) => ({
    resource,
    options: offered(resource as keyof typeof RIGHTS),
  }));
  return (
    <fieldset>
      <legend>Rights</legend>
      <input type="hidden" name={NAME} value={rights.join('\n')} />
      {coversRight(own, ALL_RIGHTS) && (
        <label>
          <input
            type="checkbox"
            checked={chosen.includes(ALL_RIGHTS)}
            onChange={(event) => choose([ALL_RIGHTS])(event.currentTarget.checked ? [ALL_RIGHTS] : [])}
          />{' '}
          All rights, including those added in later versions
        </label>
      )}
      {groups
        .filter(({ options }) => options.length > 0)
        .map(({ resource, options }) => (
          <details key={resource}>
            <summary>
              {resource}: {options.filter((each) => chosen.includes(each)).length} of {options.length} chosen
            </summary>
            <CheckList options={options} chosen={chosen} onChoose={choose(options)} />
          </details>
        ))}
      <Field
        label="Other rights"
        hint="On single records, separated by spaces or commas: api.ID.verify_key allows it on the api with this id."
      >
        {(ids) => <input {...ids} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />}
      </Field>
    </fieldset>
  );
}
