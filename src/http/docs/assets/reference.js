/* Shows /openapi.json in the viewer. Every option that would ask another host is off. */

// The viewer's validator would try to make code from text, which the policy of the page forbids. The name is the validator's.
// oxlint-disable-next-line no-underscore-dangle
globalThis.__zod_globalConfig = { jitless: true };

async function show() {
  const viewerLoaded = new Promise((resolve) => addEventListener('DOMContentLoaded', resolve));
  // A link to an operation is /docs#keys.createKey, whatever the viewer calls its place.
  const placeOf = (hash) => {
    const [, id, group] = /^#((?:(\w+)\.)?\w+)$/.exec(hash) ?? [];
    return id === undefined ? null : `#tag/${group ?? 'health'}/${id}`;
  };
  const follow = () => {
    const place = placeOf(location.hash);
    if (place !== null) location.replace(place);
  };
  follow();
  addEventListener('hashchange', follow);

  const content = await (await fetch('/openapi.json')).json();
  // Where GET and POST do the same, GET is shown.
  for (const methods of Object.values(content.paths)) if (methods.get !== undefined) delete methods.post;
  // The list at the side has names instead of sentences. The samples call this service.
  for (const operation of Object.values(content.paths).flatMap((methods) => Object.values(methods))) {
    operation.description = [operation.summary, operation.description ?? []].flat().join('\n\n');
    operation.summary = operation.operationId;
    for (const sample of operation['x-codeSamples']) {
      sample.source = sample.source.replaceAll(content.servers[0].url, location.origin);
    }
  }

  await viewerLoaded;
  Scalar.createApiReference('#reference', {
    content,
    // The page may only call the service that it comes from.
    servers: [{ url: location.origin, description: 'This service.' }],
    generateOperationSlug: ({ operationId }) => operationId,
    generateTagSlug: ({ name }) => name,
    layout: 'modern',
    theme: 'default',
    hiddenClients: true,
    defaultOpenFirstTag: true,
    documentDownloadType: 'none',
    authentication: { preferredSecurityScheme: 'rootKey' },
    // A root key stays in the memory of the page.
    persistAuth: false,
    withDefaultFonts: false,
    telemetry: false,
    hideClientButton: true,
    showDeveloperTools: 'never',
    agent: { disabled: true },
    mcp: { disabled: true },
  });
}

show().catch((failure) => {
  document.querySelector('#reference').textContent =
    `The reference could not be shown (${failure}). Load the page again.`;
});
