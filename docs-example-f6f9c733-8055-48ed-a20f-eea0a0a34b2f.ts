const ask = async (path: string, body: object): Promise<any> => {
  const headers = { authorization: `Bearer ${process.env.ROOT}`, 'content-type': 'application/json' };
  const url = `http://127.0.0.1:38309/v1/${path}`;
  return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).json();
};
const keys = [{ plaintext: 'acme_key-that-was-made-elsewhere-4' }];
await ask('migrations.enqueueKeys', { migrationId: 'from-the-old-service', apiId: process.env.api, keys });
let progress = await ask('migrations.getProgress', { migrationId: 'from-the-old-service' });
while (progress.done + progress.failed < progress.queued) {
  await new Promise((resolve) => setTimeout(resolve, 200));
  progress = await ask('migrations.getProgress', { migrationId: 'from-the-old-service' });
}
console.log(progress);
