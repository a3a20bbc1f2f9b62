import { type ErrorCode, ERRORS } from '../../core/errors.ts';
import { headersOfStatus } from '../answer/answer.ts';
import { ANSWER_HEADERS, type AnswerHeader } from '../shapes/schema/answerHeaders.ts';
import { componentOf, EXPECTED, shownFor } from '../../model/schema/described.ts';
import { ErrorObject, errorExample } from '../shapes/schema/errorObject.ts';

/** The parts of a schema that the document shows in another form. */
interface SchemaParts {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly object[];
  readonly items?: object;
  readonly properties?: Readonly<Record<string, object>>;
}

/**
 * The schemas and responses of the document that are shown once and referenced by name. The validators work with whole schemas; here,
 * every schema with a name becomes a reference. A reference has words and examples of its own where the field has.
 */
export class Components {
  readonly schemas: Record<string, object> = {};
  readonly responses: Record<string, object> = {};
  readonly headers: Record<string, object> = {};

  /** The schema as the document shows it. */
  shown(schema: object): object {
    const component = componentOf(schema);
    if (component === null) return this.#whole(schema);
    const { title = '', ...own } = component as SchemaParts;
    const { description, examples } = schema as SchemaParts;
    if (!Object.hasOwn(this.schemas, title)) {
      // Taken before its parts are read: a schema can contain itself.
      this.schemas[title] = {};
      this.schemas[title] = this.#whole(own);
    }
    return {
      $ref: `#/components/schemas/${title}`,
      ...(description === undefined || description === own.description ? {} : { description }),
      ...(examples === undefined || examples === own.examples ? {} : { examples }),
    };
  }

  /** The schema under this name, unless it has a name of its own or is a list. */
  named(name: string, schema: object, description: string): object {
    if (componentOf(schema) !== null || 'items' in schema) return this.shown(schema);
    this.schemas[name] ??= { description, ...this.#whole(schema) };
    return { $ref: `#/components/schemas/${name}` };
  }

  #whole(schema: object): object {
    const { [EXPECTED]: _expected, ...shown } = shownFor(schema) as SchemaParts & { [EXPECTED]?: string };
    const { anyOf, items, properties } = shown;
    return {
      ...typeOf(shown),
      ...shown,
      ...(anyOf === undefined ? {} : { anyOf: anyOf.map((choice) => this.shown(choice)) }),
      ...(items === undefined ? {} : { items: this.shown(items) }),
      ...(properties === undefined
        ? {}
        : {
            properties: Object.fromEntries(
              Object.entries(properties).map(([name, inner]) => [name, this.shown(inner)]),
            ),
          }),
    };
  }

  /** The headers of a response. */
  headersOf(names: readonly AnswerHeader[]): Record<string, object> {
    return Object.fromEntries(
      names.map((header) => {
        const { name, description, example } = ANSWER_HEADERS[header];
        const type = typeof example === 'number' ? 'integer' : 'string';
        this.headers[name] ??= { description, example, schema: { type } };
        return [name, { $ref: `#/components/headers/${name}` }];
      }),
    );
  }

  /** The responses for these codes, by status. Codes that share a status are examples of one response. */
  errorResponses(codes: readonly ErrorCode[]): Record<string, object> {
    const responses: Record<string, object> = {};
    for (const { status } of codes.map((code) => ERRORS[code])) {
      const same = codes.filter((code) => ERRORS[code].status === status);
      const name = same.map(inPascalCase).join('Or');
      this.responses[name] ??= this.errorResponse(same);
      responses[String(status)] = { $ref: `#/components/responses/${name}` };
    }
    return responses;
  }

  /** One response for codes of one status, with further headers. */
  errorResponse(codes: readonly ErrorCode[], more: readonly AnswerHeader[] = []): object {
    return {
      description: codes.map((code) => ERRORS[code].when).join(' '),
      headers: this.headersOf([...headersOfCodes(codes), ...more]),
      content: {
        'application/json': {
          schema: this.shown(ErrorObject),
          examples: Object.fromEntries(codes.map((code) => [code, { value: errorExample(code) }])),
        },
      },
    };
  }
}

/** The codes have one status. A refused method also names those that are taken. */
function headersOfCodes(codes: readonly ErrorCode[]): AnswerHeader[] {
  const [status = 0] = codes.map((code) => ERRORS[code].status);
  const own = Object.keys(headersOfStatus(status)) as AnswerHeader[];
  return ['keystile-request-id', ...own, ...(codes.includes('METHOD_NOT_ALLOWED') ? (['allow'] as const) : [])];
}

/** What generators ask for, and validators do not need: the type of words, and the size of whole numbers. */
function typeOf({ type, enum: values, const: value }: SchemaParts): object {
  if (type === 'integer') return { format: 'int64' };
  return (values ?? [value]).every((each) => typeof each === 'string') ? { type: 'string' } : {};
}

function inPascalCase(code: ErrorCode): string {
  return code.toLowerCase().replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
