import type { Route } from '../../../src/http/routes/route.ts';
import { verifyKey } from '../../../src/http/routes/keys.verifyKey.ts';
import { verifyKeys } from '../../../src/http/routes/keys.verifyKeys.ts';
import { createReservation } from '../../../src/http/routes/reservations.create.ts';
import { ROUTES } from '../../../src/http/routes/routeTable.ts';

/** What the tests that are made from the route table need of an endpoint. */
export type Endpoint = Pick<Route, 'path' | 'request' | 'example' | 'maxBodyBytes'>;

/** Endpoints that need no root key, unless configured so. */
export const OPEN: readonly Endpoint[] = [verifyKey, verifyKeys, createReservation];

/** Every endpoint with a request. */
export const ENDPOINTS: readonly Endpoint[] = [...ROUTES, ...OPEN];
