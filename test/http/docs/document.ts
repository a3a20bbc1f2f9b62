import type { TSchema } from 'typebox';

/** What the tests read of /openapi.json. */
export interface Document {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string; readonly description: string }[];
  readonly tags: readonly { readonly name: string; readonly 'x-displayName': string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, Response>>;
    readonly headers: Readonly<Record<string, Header>>;
    readonly securitySchemes: Readonly<Record<string, { readonly description?: string }>>;
  };
}

export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
}

interface Media {
  readonly schema: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

export interface Header {
  readonly description?: string;
  readonly example?: unknown;
  readonly schema: Schema;
}

interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>;
  readonly content: Readonly<Record<string, Media>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description?: string;
  readonly example?: unknown;
  readonly schema: Schema;
}

export interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly object[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, Response | { readonly $ref: string }>>;
}

export function operationsOf(document: Document): (Operation & { path: string; method: string })[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
  );
}

/** The responses of an operation, with the references followed. */
export function responsesOf(document: Document, operation: Operation | undefined): Record<string, Response> {
  return Object.fromEntries(
    Object.entries(operation?.responses ?? {}).map(([status, response]) => [
      status,
      '$ref' in response ? named(document.components.responses, response.$ref) : response,
    ]),
  );
}

/** The schema that a reference stands for, with the words and examples that stand beside the reference. */
export function followed(document: Document, { $ref, ...beside }: Schema): Schema {
  return $ref === undefined ? beside : { ...named(document.components.schemas, $ref), ...beside };
}

function named<T>(table: Readonly<Record<string, T>>, reference: string): T {
  const found = table[reference.slice(reference.lastIndexOf('/') + 1)];
  if (found === undefined) throw new Error(`${reference} leads nowhere`);
  return found;
}

/** The schema with every reference replaced by what it stands for. A schema inside of itself accepts any value. */
export function inlined(document: Document, schema: Schema, within: readonly string[] = []): TSchema {
  const { $ref } = schema;
  if ($ref !== undefined && within.includes($ref)) return {};
  const inside = $ref === undefined ? within : [...within, $ref];
  const { anyOf, items, properties, ...own } = followed(document, schema);
  return {
    ...own,
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map((choice) => inlined(document, choice, inside)) }),
    ...(items === undefined ? {} : { items: inlined(document, items, inside) }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, inner]) => [name, inlined(document, inner, inside)]),
          ),
        }),
  };
}
