import { createHash } from 'node:crypto';
import { Unkey } from '@unkey/api';

const unkey = new Unkey({ rootKey: process.env.ROOT, baseUrl: 'http://127.0.0.1:38309' });
const value = createHash('sha256').update('acme_key-that-was-made-elsewhere-2').digest('base64');
const { result, error } = await unkey.migrations.createKeys([
  { apiId: process.env.api, hash: { value, variant: 'sha256_base64' }, start: 'acme_key', ownerId: 'user_1234' },
]);
if (error) throw new Error(error.message);
console.log(result.keyIds);
