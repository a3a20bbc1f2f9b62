import { escape, words } from './html.ts';
import type { Operation } from './operations.ts';

interface FieldSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly FieldSchema[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly items?: FieldSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly description?: string;
}

interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly description?: string | undefined;
  readonly type: FieldSchema;
}

/** The tables of the fields of a request: name, type, whether it is required, and what it means. */
export class FieldTables {
  readonly #schemas: Readonly<Record<string, FieldSchema>>;

  constructor(schemas: Readonly<Record<string, object>>) {
    this.#schemas = schemas;
  }

  table(operation: Operation): string {
    const body = this.#resolved(operation.requestBody?.content['application/json'].schema ?? {});
    const schema = this.#resolved(body.items ?? body);
    const fields: readonly Field[] =
      operation.parameters?.map((each) => ({ ...each, type: each.schema })) ??
      Object.entries(schema.properties ?? {}).map(([name, type]) => ({
        name,
        required: schema.required?.includes(name) ?? false,
        description: this.#resolved(type).description,
        type,
      }));
    if (fields.length === 0) return '';
    const rows = fields.map(({ name, required, description = '', type }) => {
      const cells = [escape(this.#typeName(type)), required ? 'required' : '', words(description)];
      return `<tr><td><code>${escape(name)}</code></td>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
    });
    const count = body.items === undefined ? '' : `<p>A list of ${body.minItems} to ${body.maxItems} of these:</p>`;
    return `${count}<table><tr><th>Field</th><th>Type</th><th></th><th>Meaning</th></tr>${rows.join('')}</table>`;
  }

  /** The schema that a reference stands for, with the words of the reference. */
  #resolved({ $ref, ...own }: FieldSchema): FieldSchema {
    return $ref === undefined ? own : { ...this.#schemas[nameIn($ref)], ...own };
  }

  /** `within`: the names of the schemas that the type is in. Such a schema contains itself, and its name is enough. */
  #typeName(reference: FieldSchema, within: readonly string[] = []): string {
    const name = reference.$ref === undefined ? null : nameIn(reference.$ref);
    if (name !== null && within.includes(name)) return name;
    const schema = this.#resolved(reference);
    const inside = name === null ? within : [...within, name];
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' or ');
    if (schema.anyOf !== undefined) return choiceName(schema.anyOf.map((choice) => this.#typeName(choice, inside)));
    if (schema.type === 'object' && schema.properties !== undefined && Object.keys(schema.properties).length > 0) {
      const members = Object.entries(schema.properties).map(([member, type]) => {
        return `${member}${schema.required?.includes(member) ? '' : '?'}: ${this.#typeName(type, inside)}`;
      });
      return `{${members.join(', ')}}`;
    }
    if (schema.type === 'array') return `list of ${this.#typeName(schema.items ?? {}, inside)}`;
    if (schema.minimum !== undefined && schema.maximum !== undefined)
      return `integer ${schema.minimum}..${schema.maximum}`;
    if (schema.maxLength !== undefined) return `string ${schema.minLength ?? 0}..${schema.maxLength}`;
    return schema.type ?? 'any';
  }
}

function choiceName(choices: readonly string[]): string {
  const [one, list] = choices;
  // A value or a list of such values: the type is shown once.
  return choices.length === 2 && list === `list of ${one}` ? `${one}, or a list` : choices.join(' or ');
}

function nameIn(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}
