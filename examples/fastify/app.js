// One client for all routes: it waits half a second at most, and logs every verdict.
import { Keystile } from '@keystile/sdk';
import { keystile as plugin, protect } from '@keystile/sdk/fastify';
import Fastify from 'fastify';

const app = Fastify({ logger: true });
const keystile = new Keystile({
  totalTimeoutMs: 500,
  onVerdict: ({ verdict, durationMs }) =>
    app.log.info({ code: verdict.code, keyId: verdict.keyId, durationMs }, 'verdict'),
});
await app.register(plugin);

app.get('/search', { preHandler: protect({ keystile, tags: ['path=/search'] }) }, async (request) => ({
  results: [],
  creditsLeft: request.keystile.remaining,
}));

app.get('/health', async () => ({ isUp: true }));

await app.listen({ port: Number(process.env.PORT ?? 3000) });
