import { SCHEMA_VERSION as POSTGRES } from '../../storage/postgres/schema/schema.ts';
import type { KnownSchemas } from '../../storage/sql/move/dataFormat.ts';
import { SCHEMA_VERSION as SQLITE } from '../../storage/sqlite/file/migrate.ts';

export const KNOWN_SCHEMAS: KnownSchemas = { sqlite: SQLITE, postgres: POSTGRES };
