import type { Route } from './route.ts';
import { createApi } from './routes/apis.createApi.ts';
import { getApi } from './routes/apis.getApi.ts';
import { listApis } from './routes/apis.listApis.ts';
import { listKeys } from './routes/apis.listKeys.ts';
import { createKey } from './routes/keys.createKey.ts';
import { deleteKey } from './routes/keys.deleteKey.ts';
import { getKey } from './routes/keys.getKey.ts';
import { updateKey } from './routes/keys.updateKey.ts';
import { updateRemaining } from './routes/keys.updateRemaining.ts';

/** Every management endpoint. keys.verifyKey, liveness and readiness need no root key and stand beside it. */
export const ROUTES: readonly Route[] = [
  createApi,
  getApi,
  listApis,
  listKeys,
  createKey,
  getKey,
  updateKey,
  updateRemaining,
  deleteKey,
];
